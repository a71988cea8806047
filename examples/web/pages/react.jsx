import { useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { JobProgress, JobsProvider, useJobs } from 'turnabout-client/react'
import { flood, jobs, upload } from './jobs.js'

function Documents() {
  const { connection } = useJobs()
  const [documents, setDocuments] = useState([])
  // An upload may be faster than the list of what there was.
  const show = (more) =>
    setDocuments((before) => [...before, ...more.filter(({ id }) => before.every((known) => known.id !== id))])
  const add = async ({ target }) => {
    for (const file of [...target.files]) show([{ id: await upload(file), name: file.name }])
  }
  useEffect(() => {
    jobs.unfinished({ task: 'document', limit: 1000 }).then((found) =>
      show(found.map((job) => ({ id: job.id, name: job.current.public?.file ?? job.id }))),
    )
  }, [])
  return (
    <>
      <h1>Documents</h1>
      <p>Connection: <output id="connection">{connection}</output></p>
      <input type="file" multiple aria-label="Documents" onChange={add} />
      <button id="flood" onClick={flood}>Another tenant uploads a hundred</button>
      <ul>
        {documents.map(({ id, name }) => (
          <li key={id} data-job={id}>{name} <JobProgress id={id} cancel /></li>
        ))}
      </ul>
    </>
  )
}

createRoot(document.getElementById('app')).render(<JobsProvider jobs={jobs}><Documents /></JobsProvider>)
