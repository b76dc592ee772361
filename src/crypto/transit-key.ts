/**
 * A cluster key that never leaves a Vault or OpenBao server: its transit engine seals and opens for gateways that hold
 * a token. Only the shared secrets of the cluster are sent, at start and when keys are rotated.
 */
import { type ClusterKey, WrongClusterKey } from './cluster-key.ts'

interface TransitOptions {
  /** `https://vault.example:8200/v1/transit/keys/NAME`, as the server itself names the key. */
  readonly address: URL
  readonly token: string
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 10_000
const ADVICE: Readonly<Record<number, string>> = {
  403: 'see whether HOLDFAST_VAULT_TOKEN is valid and its policy permits update of encrypt and decrypt of this key',
  404: 'enable the transit engine and create the key',
  503: 'it is sealed or a standby',
}
const KEY_PATH = /^(?<mount>\/v1\/.+)\/keys\/(?<name>[^/]+)$/

export const isTransitAddress = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) && KEY_PATH.test(new URL(text).pathname)

export function transitKey({ address, token, timeoutMs = TIMEOUT_MS }: TransitOptions): ClusterKey {
  const { mount, name } = KEY_PATH.exec(address.pathname)!.groups!
  const call = async (action: 'encrypt' | 'decrypt', body: object): Promise<Record<string, unknown>> => {
    const url = new URL(`${mount}/${action}/${name}`, address)
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'x-vault-token': token, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: unknown) => {
      throw new Error(`the key server at ${address.host} cannot be reached`, { cause: error })
    })
    // Its messages may repeat what was sent.
    if (response.status === 400 && action === 'decrypt') throw new WrongClusterKey()
    if (!response.ok) {
      const advice = ADVICE[response.status] ?? 'look into its log'
      throw new Error(`the key server at ${address.host} refused to ${action}: HTTP ${response.status}: ${advice}`)
    }
    return ((await response.json()) as { data: Record<string, unknown> }).data
  }
  return {
    async seal(secret, boundTo) {
      const { ciphertext } = await call('encrypt', { plaintext: framed(secret, boundTo).toString('base64') })
      if (typeof ciphertext !== 'string') throw new Error(`the key server at ${address.host} sent no ciphertext`)
      return Buffer.from(ciphertext, 'utf8')
    },
    async open(sealed, boundTo) {
      const { plaintext } = await call('decrypt', { ciphertext: sealed.toString('utf8') })
      if (typeof plaintext !== 'string') throw new WrongClusterKey()
      return unframed(Buffer.from(plaintext, 'base64'), boundTo)
    },
  }
}

/** Transit binds nothing to a ciphertext, so its purpose is sealed with the secret. */
function framed(secret: Buffer, boundTo: string): Buffer {
  const purpose = Buffer.from(boundTo, 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(purpose.length)
  return Buffer.concat([length, purpose, secret])
}

function unframed(bytes: Buffer, boundTo: string): Buffer {
  const purpose = Buffer.from(boundTo, 'utf8')
  const end = 4 + purpose.length
  if (bytes.length < end || bytes.readUInt32BE(0) !== purpose.length) throw new WrongClusterKey()
  if (!bytes.subarray(4, end).equals(purpose)) throw new WrongClusterKey()
  return bytes.subarray(end)
}
