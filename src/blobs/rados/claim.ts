import type { ObjectNamespace } from './namespace.ts'

const OBJECT = 'store'
const BYTES_MAX = 4096

/**
 * Records the store that owns the namespace and refuses every other one: its sweep would take the blobs of this one for
 * bytes without a name.
 */
export async function claimNamespace(claims: ObjectNamespace, storeId: Buffer): Promise<void> {
  try {
    await claims.create(OBJECT, storeId)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    const owner = Buffer.allocUnsafeSlow(BYTES_MAX)
    const length = await claims.read(OBJECT, owner, 0)
    if (storeId.equals(owner.subarray(0, length))) return
    throw new Error('the namespace in the pool belongs to another store: name another one, rados://POOL/NAMESPACE')
  }
}
