/** Maps the client's choice of key to a content key and back. A customer's key is used and never stored. */
import { createHmac } from 'node:crypto'
import { KeyDisabled, KeyUnknown, type KeyUse, WrongKey } from '../../crypto/keyring.ts'
import { Fault } from '../../model/faults.ts'
import type { Encryption, Version } from '../../model/version.ts'
import { LIMITS } from '../../rules/limits.ts'
import type { StoreContext } from '../store-context.ts'

const CONTENT_KEY_BYTES = 32

export type KeyChoice =
  | { readonly by: 'service' }
  | {
      readonly by: 'named'
      readonly name: string
      readonly context: Buffer | undefined
      readonly bucketKey: boolean
      readonly isDouble?: boolean
    }
  | { readonly by: 'customer'; readonly key: Buffer; readonly md5: string }

export function keyUseOf(encryption: EncryptionInfo, customerKey: Buffer | undefined): KeyUse {
  if (encryption.by === 'service') return { by: 'service' }
  if (encryption.by === 'named') return { by: 'named', name: encryption.keyName!, context: encryption.context }
  if (customerKey === undefined)
    throw new Fault('InvalidRequest', {
      reason: 'The object is encrypted with a customer key, which the request must supply',
    })
  return { by: 'customer', key: customerKey }
}

/** How an object is encrypted, without its wrapped key. */
export type EncryptionInfo = Omit<Encryption, 'wrappedKey'>

export function encryptionInfo(choice: KeyChoice): EncryptionInfo {
  const named = choice.by === 'named' ? choice : undefined
  return {
    by: choice.by,
    keyName: named?.name,
    context: named?.context,
    bucketKey: named?.bucketKey ?? false,
    ...(named?.isDouble === true ? { isDouble: true } : {}),
    customerKeyMd5: choice.by === 'customer' ? choice.md5 : undefined,
  }
}

const customerKeyOf = (choice: KeyChoice): Buffer | undefined => (choice.by === 'customer' ? choice.key : undefined)

/** Both are stored in the version's record, which is bounded. */
function checkNamed({ name, context }: Extract<KeyChoice, { by: 'named' }>): void {
  const tooLong = name.length > LIMITS.keyNameCharactersMax || (context?.length ?? 0) > LIMITS.keyContextBytesMax
  if (tooLong) throw new Fault('InvalidRequest', { reason: 'The key id or its context is too long' })
}

/** Wraps a content key, a new one unless given, with the chosen key. */
export function encryptionFor(
  context: StoreContext,
  choice: KeyChoice,
  contentKey = context.random.bytes(CONTENT_KEY_BYTES),
): { encryption: Encryption; contentKey: Buffer } {
  if (choice.by === 'named') checkNamed(choice)
  const described = encryptionInfo(choice)
  const use = keyUseOf(described, customerKeyOf(choice))
  const wrappedKey = asClientFault(() => context.keyring.wrap(contentKey, use))
  return { encryption: { ...described, wrappedKey }, contentKey }
}

/** The content key of a stored object; undefined for plain bytes. */
export async function contentKeyOf(
  context: StoreContext,
  encryption: Encryption | undefined,
  customerKey: Buffer | undefined,
): Promise<Buffer | undefined> {
  if (customerKey !== undefined && encryption?.by !== 'customer') {
    throw new Fault('InvalidRequest', { reason: 'The object is not encrypted with a customer key' })
  }
  if (encryption === undefined) return undefined
  const use = keyUseOf(encryption, customerKey)
  return context.keyring.upToDate(() => asClientFault(() => context.keyring.unwrap(encryption.wrappedKey, use)))
}

/** Reports a wrong, unknown or disabled key to the client; other key errors are internal. */
function asClientFault<T>(use: () => T): T {
  try {
    return use()
  } catch (error) {
    if (error instanceof WrongKey) throw new Fault('AccessDenied', { reason: 'The key does not decrypt this object' })
    if (error instanceof KeyDisabled) throw new Fault('KMS.DisabledException')
    if (error instanceof KeyUnknown) throw new Fault('KMS.NotFoundException')
    throw error
  }
}

/**
 * Entity tag of bytes with this MD5 (16 bytes). Under a named or a customer's key the tag is an HMAC, so that it does
 * not reveal the plaintext's digest: stable for the same bytes and key.
 */
export function etagOf(context: StoreContext, md5: Buffer, choice: KeyChoice | undefined): string {
  if (choice === undefined || choice.by === 'service') return md5.toString('hex')
  const secret = asClientFault(() =>
    context.keyring.etagSecret(keyUseOf(encryptionInfo(choice), customerKeyOf(choice))),
  )
  return createHmac('sha256', secret).update(md5).digest('hex').slice(0, 32)
}

/** Tags of plain bytes and of bytes sealed by the service key are digests of the content alone, so copies keep them. */
export const isContentEtag = (by: Encryption['by'] | undefined): boolean => by === undefined || by === 'service'

/** False for a keyed tag that came under the service key by a copy: without parts, it still has their count. */
export const hasContentEtag = ({ encryption, etag, parts }: Pick<Version, 'encryption' | 'etag' | 'parts'>): boolean =>
  isContentEtag(encryption?.by) && (parts > 0 || !etag.includes('-'))
