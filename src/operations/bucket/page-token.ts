/** Where a listing goes on: the last name shown, in a form that clients need not and cannot understand. */
import { invalidArgument } from '../inputs.ts'

export const pageToken = {
  write: (name: string): string => Buffer.from(`1${name}`).toString('base64url'),
  read(value: string, argument: string): string {
    const text = Buffer.from(value, 'base64url').toString('utf8')
    const isOurs = text.startsWith('1') && !text.includes('\0') && Buffer.from(text).toString('base64url') === value
    if (!isOurs) throw invalidArgument(argument, value, 'The continuation token provided is incorrect')
    return text.slice(1)
  },
}
