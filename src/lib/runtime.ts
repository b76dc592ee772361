/**
 * The runtime this process runs on, and everything that is done differently on Bun. Node is the default; wherever Bun
 * comes to behave as Node does, its entry here goes.
 */
const { bun, node } = process.versions

export const IS_BUN = bun !== undefined

/** For people: `node 20.20.2`, `bun 1.4.4`. */
export const RUNTIME = bun === undefined ? `node ${node}` : `bun ${bun}`
