import { Fault } from '../../model/faults.ts'

export const malformed = (reason: string): Fault => new Fault('MalformedPolicy', { reason })
