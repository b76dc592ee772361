/** Formats results for people. Colours only on a terminal. */

export interface TerminalStyle {
  readonly strong: (text: string) => string
  readonly good: (text: string) => string
  readonly odd: (text: string) => string
  readonly bad: (text: string) => string
}

const asIs = (text: string): string => text
export const PLAIN: TerminalStyle = { strong: asIs, good: asIs, odd: asIs, bad: asIs }

const sgr =
  (code: number) =>
  (text: string): string =>
    `\x1b[${code}m${text}\x1b[0m`
export const COLOURED: TerminalStyle = { strong: sgr(1), good: sgr(32), odd: sgr(33), bad: sgr(31) }

export const terminalStyle = (isTerminal: boolean, env: NodeJS.ProcessEnv): TerminalStyle =>
  isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb' ? COLOURED : PLAIN

/** Names chosen by others must not control the terminal. */
export const escapeControls = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '\ufffd')

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-'
  if (value === true) return 'yes'
  if (value === false) return 'no'
  return escapeControls(typeof value === 'object' ? JSON.stringify(value) : String(value))
}

/** `createdAt` becomes `created at`; JSON keeps the names of the API. */
const heading = (name: string): string => name.replaceAll(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

/** Columns are as wide as their longest cell. */
export function table(rows: readonly Readonly<Record<string, unknown>>[], columns: readonly string[]): string {
  if (rows.length === 0) return 'none'
  const cells = rows.map(row => columns.map(name => cell(row[name])))
  const widths = columns.map((name, i) => Math.max(heading(name).length, ...cells.map(row => row[i]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((text, i) => text.padEnd(widths[i]!))
      .join('  ')
      .trimEnd()
  return [line(columns.map(name => heading(name).toUpperCase())), ...cells.map(line)].join('\n')
}

/** One line for each known field. */
export function facts(of: Readonly<Record<string, unknown>>): string {
  const known = Object.entries(of)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [heading(name), value] as const)
  const width = Math.max(0, ...known.map(([name]) => name.length))
  return known.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`).join('\n')
}
