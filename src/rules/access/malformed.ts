import { Fault } from '../../model/faults.ts'

/** A policy document that is refused, and why. */
export const malformed = (reason: string): Fault => new Fault('MalformedPolicy', { reason })
