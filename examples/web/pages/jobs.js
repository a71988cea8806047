// What all three pages have in common: the jobs, and the way to the page's own server.

import { createJobs } from 'turnabout-client'

const { port = '7878' } = Object.fromEntries(new URLSearchParams(location.search))

export const jobs = createJobs({
  url: `http://127.0.0.1:${port}/api/v1`,
  token: async () => {
    const response = await fetch('/jobs-token', { method: 'POST' })
    if (!response.ok) throw new Error('not signed in')
    return response.json()
  },
})

/** Uploads a document; the id of the job that reads it. */
export async function upload(file) {
  const response = await fetch(`/documents?name=${encodeURIComponent(file.name)}`, { method: 'POST', body: file })
  if (!response.ok) throw new Error('the document was not taken')
  return (await response.json()).id
}

export const flood = () => fetch('/flood', { method: 'POST' })
