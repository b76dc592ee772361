/** An issuer of OpenID Connect for tests, which can be told to misbehave. */
import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export const CLIENT = { id: 'holdfast-console', secret: 'the secret of the client' }

type Json = Readonly<Record<string, unknown>>

export interface TestIssuer {
  readonly url: string
  /** Claims of the next tokens, over the usual ones. */
  claims: Json
  /** Header fields of the next tokens, over the usual ones. */
  header: Json
  /** How often the keys were read. */
  keyReads(): number
  /** Makes a new key and publishes it instead of the old one. */
  rotate(): void
  close(): Promise<void>
}

interface Grant {
  readonly challenge: string
  readonly nonce: string
  readonly redirectUri: string
}

const part = (json: Json): string => Buffer.from(JSON.stringify(json)).toString('base64url')

async function bodyOf(message: IncomingMessage): Promise<URLSearchParams> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

const newKeyPair = () => generateKeyPairSync('rsa', { modulusLength: 2048 })
/** One for each generation. Making them is slow, so all issuers use the same. */
const keyPairs: ReturnType<typeof newKeyPair>[] = []

function keyPairOf(generation: number): ReturnType<typeof newKeyPair> {
  while (keyPairs.length < generation) keyPairs.push(newKeyPair())
  return keyPairs[generation - 1]!
}

export async function startIssuer(now: () => number): Promise<TestIssuer> {
  const grants = new Map<string, Grant>()
  let [generation, reads, codes] = [1, 0, 0]
  const issuer = { url: '', claims: {} as Json, header: {} as Json }

  const token = (nonce: string): string => {
    const seconds = Math.floor(now() / 1000)
    const usual = { iss: issuer.url, aud: CLIENT.id, sub: 'person', exp: seconds + 300, iat: seconds, nonce }
    const head = { alg: 'RS256', kid: `key-${generation}`, ...issuer.header }
    const signed = `${part(head)}.${part({ ...usual, ...issuer.claims })}`
    return `${signed}.${signatureOf(signed, keyPairOf(generation).privateKey)}`
  }
  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    const code = `code-${++codes}`
    const redirectUri = query.get('redirect_uri')!
    grants.set(code, { challenge: query.get('code_challenge')!, nonce: query.get('nonce')!, redirectUri })
    const target = new URL(redirectUri)
    target.search = new URLSearchParams({ code, state: query.get('state')! }).toString()
    response.writeHead(302, { location: target.href }).end()
  }
  const exchange = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const form = await bodyOf(message)
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    const pair = `${CLIENT.id}:${CLIENT.secret.replaceAll(' ', '+')}`
    const isRight =
      message.headers.authorization === `Basic ${Buffer.from(pair).toString('base64')}` &&
      grant !== undefined &&
      grant.redirectUri === form.get('redirect_uri') &&
      createHash('sha256').update(form.get('code_verifier')!).digest('base64url') === grant.challenge
    response.writeHead(isRight ? 200 : 400, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isRight ? { id_token: token(grant.nonce) } : { error: 'invalid_grant' }))
  }
  const server = createServer((message, response) => {
    const { pathname, searchParams } = new URL(message.url!, issuer.url)
    const json = (value: Json) => response.setHeader('content-type', 'application/json').end(JSON.stringify(value))
    if (pathname === '/authorize') return authorize(searchParams, response)
    if (pathname === '/token') return void exchange(message, response)
    if (pathname === '/keys') {
      reads++
      const { publicKey } = keyPairOf(generation)
      return json({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: `key-${generation}`, use: 'sig' }] })
    }
    json({
      issuer: issuer.url,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      jwks_uri: `${issuer.url}/keys`,
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return Object.assign(issuer, {
    keyReads: () => reads,
    rotate() {
      generation++
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}

const signatureOf = (text: string, key: KeyObject): string =>
  sign('sha256', Buffer.from(text), key).toString('base64url')
