/** Calls the admin API by the names of its routes. Types and paths are generated from the API's description. */
import { texts } from '../texts/texts.ts'
import { ADMIN_API, type AdminApi } from './admin-api.ts'
import { ApiFailure, unreachable } from './failure.ts'
import { suspension } from './suspension.ts'

/** Sent with every request: a page of another origin cannot add it, and a cookie alone is refused. */
const TOKEN_HEADER = 'x-holdfast-console'
/** Marks requests that a timer sends, so that an unattended tab still ends its session. */
const IDLE_HEADER = 'x-holdfast-idle'
const TOKEN_KEY = 'holdfast-console-token'

const sharedToken = (): string | undefined => window.localStorage.getItem(TOKEN_KEY) ?? undefined

/**
 * The token of this page. Another tab may replace the shared one, and the cookie, for another person: until this page
 * has asked whose session that is, it keeps its own token, which the server refuses with any other cookie.
 */
let pageToken = sharedToken()

export const sessionToken = {
  get: (): string | undefined => pageToken,
  set: (token: string): void => {
    pageToken = token
    window.localStorage.setItem(TOKEN_KEY, token)
  },
  clear: (): void => {
    pageToken = undefined
    window.localStorage.removeItem(TOKEN_KEY)
  },
  /** Goes over to the session that another tab began. */
  takeShared: (): void => {
    pageToken = sharedToken()
  },
}

/** All tabs share the session: one that signs in or out changes whose pages the others show. */
export function whenAnotherTabSigns(listener: (isIn: boolean) => void): () => void {
  const changed = ({ key, newValue }: StorageEvent): void => {
    if (key === TOKEN_KEY || key === null) listener(newValue !== null)
  }
  window.addEventListener('storage', changed)
  return () => window.removeEventListener('storage', changed)
}

/** Set by the page: shows the sign-in form when a session has ended. */
let onSessionEnd: () => void = () => {}

export function whenSessionEnds(listener: () => void): void {
  onSessionEnd = listener
}

/** Routes that lead to a session or tell whether there is one. */
const BEGINNINGS: ReadonlySet<keyof AdminApi> = new Set([
  'BeginOidcSignIn',
  'FinishOidcSignIn',
  'GetSession',
  'GetSignInOptions',
  'SignIn',
])

const ended = (): ApiFailure =>
  new ApiFailure({ status: 401, code: 'Unauthenticated', message: texts.errors.sessionEnded })

interface CallOptions {
  readonly signal?: AbortSignal
  readonly isTimer?: boolean
}

export async function call<N extends keyof AdminApi>(
  name: N,
  input: AdminApi[N]['input'],
  options: CallOptions = {},
): Promise<AdminApi[N]['output']> {
  if (suspension.isOn() && !BEGINNINGS.has(name)) throw ended()
  const { target, body } = requestOf(name, input)
  const token = sessionToken.get()
  const response = await fetch(target, {
    method: ADMIN_API[name].method,
    headers: {
      [TOKEN_HEADER]: token ?? 'sign-in',
      ...(options.isTimer ? { [IDLE_HEADER]: '1' } : {}),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(options.signal ? { signal: options.signal } : {}),
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw unreachable(texts.errors.unreachable)
  })
  if (!response.ok) {
    const failure = await failureOf(response)
    // A late answer to a request of an earlier session says nothing about the present one.
    if (failure.status === 401 && sessionToken.get() === token) onSessionEnd()
    throw failure
  }
  return (response.status === 204 ? undefined : await response.json()) as AdminApi[N]['output']
}

function requestOf(name: keyof AdminApi, input: object): { target: string; body: object | undefined } {
  const { path, query, method } = ADMIN_API[name]
  const rest = new Map(Object.entries(input as Record<string, unknown>))
  const take = (field: string): string | undefined => {
    const value = rest.get(field)
    rest.delete(field)
    return value === undefined ? undefined : String(value)
  }
  const filled = path.replace(/\{(\w+)\}/g, (_, field: string) => encodeURIComponent(take(field) ?? ''))
  const search = new URLSearchParams()
  for (const field of query) {
    const value = take(field)
    if (value !== undefined) search.set(field, value)
  }
  const target = search.size === 0 ? filled : `${filled}?${search}`
  return { target, body: method === 'GET' || rest.size === 0 ? undefined : Object.fromEntries(rest) }
}

async function failureOf(response: Response): Promise<ApiFailure> {
  const text = await response.text().catch(() => '')
  const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
  const retry = Number.isFinite(retryAfter) ? { retryAfterSeconds: retryAfter } : {}
  try {
    const { code, message, requestId } = JSON.parse(text) as { code: string; message: string; requestId: string }
    return new ApiFailure({ status: response.status, code, message, requestId, ...retry })
  } catch {
    const message = text.trim() || texts.errors.noDetails(response.status)
    return new ApiFailure({ status: response.status, code: String(response.status), message, ...retry })
  }
}
