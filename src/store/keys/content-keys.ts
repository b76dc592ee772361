/** From what a client asks for to a content key and back. A customer's key passes through and is kept nowhere. */
import { createHmac } from 'node:crypto'
import { KeyDisabled, KeyUnknown, type KeyUse, WrongKey } from '../../crypto/keyring.ts'
import { Fault } from '../../model/faults.ts'
import type { Encryption } from '../../model/version.ts'
import { LIMITS } from '../../rules/limits.ts'
import type { StoreContext } from '../store-context.ts'

const CONTENT_KEY_BYTES = 32

/** The key a client names for its object. */
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
  if (customerKey === undefined) throw new Fault('InvalidRequest', { reason: 'The object needs its customer key' })
  return { by: 'customer', key: customerKey }
}

/** What can be told about how something is sealed. */
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

/** Both stand in the version's record, which has a size. */
function checkNamed({ name, context }: Extract<KeyChoice, { by: 'named' }>): void {
  const tooLong = name.length > LIMITS.keyNameCharactersMax || (context?.length ?? 0) > LIMITS.keyContextBytesMax
  if (tooLong) throw new Fault('InvalidRequest', { reason: 'The key id or its context is too long' })
}

/** Wraps a content key, a new one unless one is given, as the client asks. */
export function encryptionFor(
  engine: StoreContext,
  choice: KeyChoice,
  contentKey = engine.random.bytes(CONTENT_KEY_BYTES),
): { encryption: Encryption; contentKey: Buffer } {
  if (choice.by === 'named') checkNamed(choice)
  const described = encryptionInfo(choice)
  const use = keyUseOf(described, customerKeyOf(choice))
  const wrappedKey = faulting(() => engine.keyring.wrap(contentKey, use))
  return { encryption: { ...described, wrappedKey }, contentKey }
}

/** The content key of a stored object; undefined for plain bytes. */
export async function contentKeyOf(
  engine: StoreContext,
  encryption: Encryption | undefined,
  customerKey: Buffer | undefined,
): Promise<Buffer | undefined> {
  if (customerKey !== undefined && encryption?.by !== 'customer') {
    throw new Fault('InvalidRequest', { reason: 'The object has no customer key' })
  }
  if (encryption === undefined) return undefined
  const use = keyUseOf(encryption, customerKey)
  return engine.keyring.upToDate(() => faulting(() => engine.keyring.unwrap(encryption.wrappedKey, use)))
}

/** A wrong, unknown or disabled key is the client's business; anything else about keys is not. */
function faulting<T>(use: () => T): T {
  try {
    return use()
  } catch (error) {
    if (error instanceof WrongKey) throw new Fault('AccessDenied', { reason: 'The key does not open this object' })
    if (error instanceof KeyDisabled) throw new Fault('KMS.DisabledException')
    if (error instanceof KeyUnknown) throw new Fault('KMS.NotFoundException')
    throw error
  }
}

/**
 * Entity tag of bytes with this MD5 (16 bytes). Under a named or a customer's key it must not give the plaintext's
 * digest away, so it is keyed: stable for the same bytes and key, telling nothing.
 */
export function etagOf(engine: StoreContext, md5: Buffer, choice: KeyChoice | undefined): string {
  if (choice === undefined || choice.by === 'service') return md5.toString('hex')
  const secret = faulting(() => engine.keyring.etagSecret(keyUseOf(encryptionInfo(choice), customerKeyOf(choice))))
  return createHmac('sha256', secret).update(md5).digest('hex').slice(0, 32)
}

/** Tags of plain bytes and of those that the service seals are digests of the content alone, and so stay. */
export const isContentEtag = (by: Encryption['by'] | undefined): boolean => by === undefined || by === 'service'
