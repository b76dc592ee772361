import { Fault } from '../../model/faults.ts'

/**
 * R105, R113, G19. Lists and locks are set on what is there. A key that is deleted has a marker on top, and a
 * marker takes neither: that is another answer than for a key that never was.
 */
export async function refuseDeleteMarker<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'NoSuchKey' && error.detail.deleteMarker === true)) throw error
    const { Key, markerId } = error.detail
    throw new Fault('MethodNotAllowed', { Key, deleteMarker: true, markerId })
  }
}
