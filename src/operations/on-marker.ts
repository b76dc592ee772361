import { Fault } from '../model/faults.ts'

/**
 * R105, R113, section 6. Lists and locks are set on what is there. A key that is deleted has a marker on top, and a
 * marker takes neither: that is another answer than for a key that never was.
 */
export async function notOnMarker<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    const isHidden = error instanceof Fault && error.code === 'NoSuchKey' && error.detail.deleteMarker === true
    if (isHidden) throw new Fault('MethodNotAllowed', { Key: error.detail.Key, deleteMarker: true })
    throw error
  }
}
