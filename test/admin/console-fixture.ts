/** A browser's view of the console: requests with any headers, and a page that is signed in. */
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { type Answer, type Consoled, type Key, ROOT } from './fixture.ts'

export interface Sent {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

type Scheme = 'http' | 'https'

export function send(
  port: number,
  { method = 'GET', path, headers = {}, body }: Sent,
  scheme: Scheme = 'http',
): Promise<Answer> {
  const text = body === undefined ? '' : JSON.stringify(body)
  const length = text === '' ? {} : { 'content-length': String(Buffer.byteLength(text)) }
  const all = { host: `127.0.0.1:${port}`, ...length, ...headers }
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers: all, rejectUnauthorized: false }
    const request = (scheme === 'http' ? httpRequest : httpsRequest)(options, answer => {
      const chunks: Buffer[] = []
      answer.on('data', chunk => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const whole = Buffer.concat(chunks).toString()
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: whole, json: () => JSON.parse(whole) })
      })
    })
    request.on('error', reject)
    request.end(text)
  })
}

export const originOf = (port: number): string => `http://127.0.0.1:${port}`

/** The headers that a browser sends with a request of a page of the same origin. */
export const fromPage = (port: number, token: string): Record<string, string> => ({
  origin: originOf(port),
  'sec-fetch-site': 'same-origin',
  'x-holdfast-console': token,
})

export function signIn(
  port: number,
  { accessKey, secretKey }: Key = ROOT,
  headers: Readonly<Record<string, string>> = {},
  scheme?: Scheme,
): Promise<Answer> {
  const all = { ...fromPage(port, 'sign-in'), ...headers }
  return send(port, { method: 'POST', path: '/v1/session', headers: all, body: { accessKey, secretKey } }, scheme)
}

/** The cookie of a response, as the browser sends it back. */
export const cookieOf = ({ headers }: Answer): string => String(headers['set-cookie']).split(';')[0]!

export interface SignedInPage {
  readonly cookie: string
  readonly token: string
  /** Sends as the page does; headers given here replace those of the browser. */
  readonly ask: (sent: Sent) => Promise<Answer>
}

export async function signedInPage({ port }: Pick<Consoled, 'port'>, key: Key = ROOT): Promise<SignedInPage> {
  const answer = await signIn(port, key)
  const [cookie, token] = [cookieOf(answer), String(answer.json().token)]
  const ask = (sent: Sent): Promise<Answer> =>
    send(port, { ...sent, headers: { cookie, ...fromPage(port, token), ...sent.headers } })
  return { cookie, token, ask }
}
