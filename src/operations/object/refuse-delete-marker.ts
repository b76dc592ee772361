import { Fault } from '../../model/faults.ts'

/** R105, R113, G19. A delete marker has neither ACL, lock nor tags: the fault differs from that for a missing key. */
export async function refuseDeleteMarker<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'NoSuchKey' && error.detail.deleteMarker === true)) throw error
    const { Key, markerId } = error.detail
    throw new Fault('MethodNotAllowed', { Key, deleteMarker: true, markerId })
  }
}
