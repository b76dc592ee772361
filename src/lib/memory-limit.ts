import { totalmem } from 'node:os'

/** Bytes that this process may use: the machine's memory or the container's limit. */
export const memoryLimit = (): number => Math.min(totalmem(), process.constrainedMemory() || Infinity)
