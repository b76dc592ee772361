import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { WrongClusterKey } from './cluster-key.ts'
import { isTransitAddress, transitKey } from './transit-key.ts'

const TOKEN = 'hvs.the-token-of-the-gateway'

/** The part of the transit engine that a gateway uses. Ciphertexts are reversed plaintexts under the key's name. */
class TransitServer {
  isSealed = false
  hangs = false
  readonly calls: string[] = []

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.hangs) return
    const body = JSON.parse(await text(request)) as Record<string, string>
    this.calls.push(`${request.method} ${request.url}`)
    const send = (status: number, json: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    }
    if (this.isSealed) return send(503, { errors: ['Vault is sealed'] })
    if (request.headers['x-vault-token'] !== TOKEN) return send(403, { errors: ['permission denied', body.plaintext] })
    const [, action, name] = /^\/v1\/transit\/(encrypt|decrypt)\/(\w+)$/.exec(request.url!)!
    const turned = (bytes: string): string => [...bytes].reverse().join('')
    if (action === 'encrypt') return send(200, { data: { ciphertext: `vault:v1:${name}:${turned(body.plaintext!)}` } })
    const [, of, sealed] = /^vault:v1:(\w+):(.*)$/s.exec(body.ciphertext!) ?? []
    if (of !== name) return send(400, { errors: ['cipher: message authentication failed'] })
    return send(200, { data: { plaintext: turned(sealed!) } })
  }
}

async function withTransit(use: (origin: string, transit: TransitServer) => Promise<void>): Promise<void> {
  const transit = new TransitServer()
  const server = createServer((request, response) => void transit.answer(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, transit)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

const keyAt = (origin: string, name = 'holdfast', token = TOKEN, timeoutMs = 10_000) =>
  transitKey({ address: new URL(`${origin}/v1/transit/keys/${name}`), token, timeoutMs })

test('a transit key seals and opens, bound to its purpose', () =>
  withTransit(async (origin, transit) => {
    const key = keyAt(origin)
    const secret = Buffer.from('the keyring \0 in bytes')
    const sealed = await key.seal(secret, 'archive/keyring')
    assert.ok(!sealed.includes(secret))
    assert.ok((await key.open(sealed, 'archive/keyring')).equals(secret))
    await assert.rejects(key.open(sealed, 'archive/root key'), WrongClusterKey)
    await assert.rejects(keyAt(origin, 'other').open(sealed, 'archive/keyring'), WrongClusterKey)
    assert.equal(transit.calls[0], 'POST /v1/transit/encrypt/holdfast')
  }))

test('a refused token, a sealed server and one that is gone are errors without the token or the secret', () =>
  withTransit(async (origin, transit) => {
    const secret = Buffer.from('do not show this')
    const failure = async (call: Promise<unknown>): Promise<string> => {
      const error = await call.then(
        () => assert.fail('it must fail'),
        (thrown: Error) => thrown,
      )
      const shown = `${error.stack} ${String(error.cause)}`
      assert.ok(![TOKEN, 'wrong-token', secret.toString('base64')].some(hidden => shown.includes(hidden)), shown)
      assert.ok(!(error instanceof WrongClusterKey), 'none of these says that the key is wrong')
      return error.message
    }
    const refused = await failure(keyAt(origin, 'holdfast', 'wrong-token').seal(secret, 'a/keyring'))
    assert.match(refused, /refused to encrypt: HTTP 403: see whether HOLDFAST_VAULT_TOKEN is valid/)
    transit.isSealed = true
    assert.match(await failure(keyAt(origin).seal(secret, 'a/keyring')), /HTTP 503: it is sealed or a standby/)
    transit.hangs = true
    assert.match(await failure(keyAt(origin, 'holdfast', TOKEN, 50).seal(secret, 'a/keyring')), /cannot be reached/)
    assert.match(await failure(keyAt('http://127.0.0.1:1').open(secret, 'a/keyring')), /cannot be reached/)
  }))

test('only the address of a key is one', () => {
  assert.ok(isTransitAddress('https://vault:8200/v1/transit/keys/holdfast'))
  assert.ok(isTransitAddress('https://vault:8200/v1/team/transit/keys/holdfast'))
  for (const other of ['vault', 'https://vault:8200', 'ftp://vault/v1/transit/keys/a', 'https://v/v1/transit/keys/']) {
    assert.ok(!isTransitAddress(other), other)
  }
})
