/**
 * An engine below the store (a database, another object store, a cluster of disks) does not answer or refuses for now.
 * Nothing is known to be lost, and the same request may succeed later. Clients get 503.
 */
export class EngineUnavailable extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'EngineUnavailable'
  }
}
