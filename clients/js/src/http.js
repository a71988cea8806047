// Requests to the server: with a token that is fetched in time, and with errors that say what the server said.

/** What the server answered, if that is no success; or `status` 0: nothing at all. */
export class JobsError extends Error {
  constructor(message, { status = 0, code = 'unreachable', retryAfter = 0, problem, cause } = {}) {
    super(message, { cause })
    this.name = 'JobsError'
    Object.assign(this, { status, code, retryAfter, problem })
  }
}

/** What a token says of itself, if it is a JWT. */
export function claims(token) {
  try {
    return JSON.parse(atob(token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/')))
  } catch {
    return {}
  }
}

export class Http {
  #token
  #fetching

  constructor({ url, token, fetch }) {
    this.url = String(url).replace(/\/+$/, '')
    this.source = token
    this.fetch = fetch ?? ((...args) => globalThis.fetch(...args))
  }

  /** The token in force, or a new one if it soon ends. All who ask at once get the same. */
  async token() {
    if (!this.source) return undefined
    if (this.#token && Date.now() < this.#token.until) return this.#token
    this.#fetching ??= Promise.resolve()
      .then(() => this.source())
      .then((text) => {
        const said = claims(text ?? '')
        const left = said.exp ? said.exp * 1000 - Date.now() : Infinity
        // A minute before its end; of short ones, while a quarter is left.
        const until = Date.now() + Math.max(left - Math.min(60_000, left / 4), 0)
        this.#token = { text, said, until: left === Infinity ? Infinity : until }
        return this.#token
      })
      .finally(() => (this.#fetching = undefined))
    return this.#fetching
  }

  /** Sends a request; a token that is not accepted is replaced once. */
  async send(path, { body, headers, ...options } = {}, again = true) {
    let response
    const token = await this.token().catch((cause) => {
      throw new JobsError('no token could be had', { code: 'no-token', cause })
    })
    try {
      response = await this.fetch(this.url + path, {
        ...options,
        headers: {
          ...(token?.text && { authorization: `Bearer ${token.text}` }),
          ...(body && { 'content-type': 'application/json' }),
          ...headers,
        },
        body: body && JSON.stringify(body),
        cache: 'no-store',
      })
    } catch (cause) {
      throw new JobsError('the server cannot be reached', { cause })
    }
    if (response.ok) return response
    const problem = await response.json().catch(() => undefined)
    if (response.status === 401 && this.source) {
      // Not if someone else has replaced it meanwhile.
      if (this.#token === token) this.#token = undefined
      if (again) return this.send(path, { body, headers, ...options }, false)
    }
    throw new JobsError(problem?.error_message ?? problem?.detail ?? `the answer was ${response.status}`, {
      status: response.status,
      code: problem?.code ?? `http-${response.status}`,
      retryAfter: 1000 * (Number(response.headers.get('retry-after')) || 0),
      problem,
    })
  }

  async ask(path, options) {
    const response = await this.send(path, options)
    return response.status === 204 ? undefined : response.json()
  }
}
