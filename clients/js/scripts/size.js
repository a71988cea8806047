// How large the package is, as a bundler ships it (minified) and as it is in the package, both after `gzip -9`.
// Fails if the core is larger than promised.

import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { buildSync } from 'esbuild'

const LIMITS = { index: 5000, vue: 2048, react: 2048, element: 2048 }
const gzip = (text) => gzipSync(text, { level: 9 }).length
let fits = true

for (const [name, limit] of Object.entries(LIMITS)) {
  const entry = new URL(`../src/${name}.js`, import.meta.url).pathname
  const { outputFiles, metafile } = buildSync({
    entryPoints: [entry], bundle: true, minify: true, format: 'esm', write: false, metafile: true, external: ['vue', 'react'],
  })
  const sources = Object.keys(metafile.inputs).map((file) => readFileSync(file))
  const [shipped, source] = [gzip(outputFiles[0].contents), gzip(Buffer.concat(sources))]
  const verdict = shipped <= limit ? 'good' : 'TOO LARGE'
  fits &&= shipped <= limit
  console.log(`${name.padEnd(8)} ${String(shipped).padStart(5)} bytes minified, ${String(source).padStart(5)} as it is, of ${limit}: ${verdict}`)
}
process.exitCode = fits ? 0 : 1
