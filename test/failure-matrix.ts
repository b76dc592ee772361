/**
 * The outcome a client sees when the source fails, by the kind of body and the moment of the failure. The tests in
 * broken-answers and failed-reads verify every row on the current runtime, over plain connections and TLS, kept alive
 * or not; the table in docs/decisions/aborted-responses.md is generated from it.
 */

/**
 * `500`: a complete error response. `cut`: the connection closes before all of the announced body, or without a byte.
 */
export type Seen = '500' | 'cut' | 'error document' | '–'

export interface Failing {
  readonly body: string
  /** Fails before any byte of the body was sent. */
  readonly first: Seen
  /** Fails after some of the body was sent. */
  readonly later: Seen
}

export const OBJECT_API = {
  inline: { body: 'object within its record (up to 4 KiB)', first: '500', later: '–' },
  packed: { body: 'object in a volume, up to 128 KiB', first: '500', later: '–' },
  packedLong: { body: 'object in a volume, longer', first: '500', later: 'cut' },
  solo: { body: 'object in a file of its own', first: '500', later: 'cut' },
  range: { body: 'range of an object', first: '500', later: 'cut' },
  parts: { body: 'multipart object', first: '500', later: 'cut' },
  part: { body: 'one part of a multipart object', first: '500', later: 'cut' },
  copy: { body: 'copy of an object', first: '500', later: 'cut' },
  sealedShort: { body: 'encrypted object, short', first: '500', later: '–' },
  sealed: { body: 'encrypted object', first: '500', later: 'cut' },
  customer: { body: "object under a customer's key", first: '500', later: 'cut' },
  website: { body: 'page of a website', first: '500', later: 'cut' },
  websiteError: { body: 'error document of a website', first: '500', later: 'cut' },
  listing: { body: 'listing', first: '500', later: '–' },
  attributes: { body: 'other documents', first: '500', later: '–' },
  late: { body: 'late answer of a copy or a completion', first: '500', later: 'error document' },
} as const satisfies Readonly<Record<string, Failing>>

export const CONSOLE = {
  metrics: { body: 'metrics', first: '500', later: '–' },
  ledger: { body: 'export of a ledger', first: '500', later: 'cut' },
  backupRecords: { body: 'records of a backup', first: '500', later: 'cut' },
  backupBlobs: { body: 'blobs of a backup', first: '500', later: 'cut' },
  json: { body: 'everything else of the admin API', first: '500', later: '–' },
} as const satisfies Readonly<Record<string, Failing>>

const SERVED_ON = ['Node', 'Node, TLS', 'Bun', 'Bun, TLS']

/** The rows as the documentation shows them. */
export function matrixTable(): string {
  const titles = ['body', 'fails', ...SERVED_ON]
  const rows = [...Object.values(OBJECT_API), ...Object.values(CONSOLE)].flatMap(({ body, first, later }: Failing) => [
    [body, 'before its first byte', ...SERVED_ON.map(() => first)],
    [body, 'after some bytes', ...SERVED_ON.map(() => later)],
  ])
  const widths = titles.map((title, i) => Math.max(title.length, ...rows.map(row => row[i]!.length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`
  const rule = `| ${widths.map(width => '-'.repeat(width)).join(' | ')} |`
  return [line(titles), rule, ...rows.map(line)].join('\n')
}
