/** Held and retained versions as a table for spreadsheets. */
import type { AdminApi } from '../api/admin-api.ts'
import { holdsTexts } from '../texts/holds.ts'

export type HeldVersion = AdminApi['ListHeldVersions']['output']['versions'][number]

/**
 * A spreadsheet takes a cell that begins with one of these for a formula, also inside quotes; with an apostrophe before
 * it, it is text.
 */
const FORMULA = /^[=+\-@\t\r]/

function cellOf(value: string): string {
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

export const csvLine = (cells: readonly string[]): string => `${cells.map(cellOf).join(',')}\r\n`

export const actorName = ({ account, user }: { readonly account: string; readonly user?: string }): string =>
  user === undefined ? account : holdsTexts.list.user(user, account)

export function heldCells(version: HeldVersion): string[] {
  const { key, versionId, latest, size, hold, heldSince, retention, retainedSince } = version
  const word = (isSo: boolean): string => (isSo ? 'yes' : 'no')
  return [
    key,
    versionId,
    word(latest),
    String(size),
    word(hold),
    heldSince?.time ?? '',
    heldSince === undefined ? '' : actorName(heldSince.by),
    retention?.mode ?? '',
    retention?.until ?? '',
    retention === undefined ? '' : word(retention.inForce),
    retainedSince?.time ?? '',
    retainedSince === undefined ? '' : actorName(retainedSince.by),
  ]
}
