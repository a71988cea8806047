// A browser for tests, with a profile of its own.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'

const CHROMIUM = process.env.TURNABOUT_CHROMIUM ?? '/usr/bin/chromium'
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync']

export async function openBrowser() {
  const profile = mkdtempSync(join(tmpdir(), 'turnabout-browser-'))
  const browser = await chromium.launchPersistentContext(profile, { executablePath: CHROMIUM, args: FLAGS })
  browser.setDefaultTimeout(30_000)
  return {
    browser,
    async close() {
      await browser.close()
      rmSync(profile, { recursive: true, force: true })
    },
  }
}
