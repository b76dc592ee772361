/** Parameters and elements that all listings share. */
import { percentEncoded } from '../../lib/percent-encoding.ts'
import type { XmlWriter } from '../../lib/xml-writer.ts'
import { effectiveOwner } from '../../rules/access/acl.ts'
import type { OperationContext } from '../context.ts'
import type { Decoder } from '../operation.ts'
import { asText, invalidArgument, maybe } from '../operation.ts'

export const prefix = maybe.query('prefix', asText)
export const delimiter = maybe.query('delimiter', asText)

/** `encoding-type=url`: texts in the response are percent-encoded, since XML cannot carry every character. */
export const encoding: Decoder<'url' | undefined> = maybe.query('encoding-type', (value, name) => {
  if (value !== 'url') throw invalidArgument(name, value, 'Invalid Encoding Method specified in Request')
  return 'url' as const
})

const encoded = (text: string): string => percentEncoded(text).replaceAll('%2F', '/').replaceAll('%20', '+')

/** Encodes keys and prefixes for this listing. */
export const speller =
  (form: 'url' | undefined) =>
  <T extends string | undefined>(text: T): T | string =>
    text === undefined || form === undefined ? text : encoded(text)

export type Spell = ReturnType<typeof speller>

export function writePrefixes(to: XmlWriter, prefixes: readonly string[], spell: Spell): void {
  for (const one of prefixes) {
    to.open('CommonPrefixes')
    to.leaf('Prefix', spell(one))
    to.close()
  }
}

/** G6. Under BucketOwnerEnforced the bucket owner owns what others wrote before. */
export const ownerShown = ({ bucket }: OperationContext, owner: string): string =>
  effectiveOwner(owner, bucket.ownership ?? 'ObjectWriter', bucket.owner)

export function writeOwner(to: XmlWriter, ctx: OperationContext, owner: string): void {
  const id = ownerShown(ctx, owner)
  to.open('Owner')
  to.leaf('ID', id)
  to.leaf('DisplayName', ctx.accounts.byCanonicalId(id)?.displayName ?? '')
  to.close()
}

export const pageToken = {
  write: (name: string): string => Buffer.from(`1${name}`).toString('base64url'),
  read(value: string, argument: string): string {
    const text = Buffer.from(value, 'base64url').toString('utf8')
    const isOurs = text.startsWith('1') && !text.includes('\0') && Buffer.from(text).toString('base64url') === value
    if (!isOurs) throw invalidArgument(argument, value, 'The continuation token provided is incorrect')
    return text.slice(1)
  },
}
