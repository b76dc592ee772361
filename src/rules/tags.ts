/** Parses and validates tag sets from a header or a document (R21, G20). */
import { children, onlyChildren, requiredChild, requiredText, rootNamed, type XmlNode } from '../lib/xml.ts'
import type { XmlDocument } from '../lib/xml-writer.ts'
import { Fault } from '../model/faults.ts'
import type { Pairs } from '../model/version.ts'
import { headerName } from './access/names.ts'

type TagOwner = 'object' | 'bucket'

export const TAG_LIMITS = {
  objectTagsMax: 10,
  bucketTagsMax: 50,
  keyCharactersMax: 128,
  valueCharactersMax: 256,
} as const

const ALLOWED = /^[\p{L}\p{N}\p{Z}_.:/=+\-@]*$/u
const RESERVED = /^(?:svc|aws):/i

const invalidKey = (key: string): Fault =>
  new Fault('InvalidTag', { reason: 'The TagKey you have provided is invalid', TagKey: key })
const invalidValue = (key: string, value: string): Fault =>
  new Fault('InvalidTag', { reason: 'The TagValue you have provided is invalid', TagKey: key, TagValue: value })

/** Counts code points, not UTF-16 units. */
const charactersOf = (text: string): number => [...text].length

function checkTag(key: string, value: string): void {
  if (RESERVED.test(key)) {
    throw new Fault('InvalidTag', { reason: 'System tags cannot be added/updated by requester', TagKey: key })
  }
  if (key === '' || charactersOf(key) > TAG_LIMITS.keyCharactersMax || !ALLOWED.test(key)) throw invalidKey(key)
  if (charactersOf(value) > TAG_LIMITS.valueCharactersMax || !ALLOWED.test(value)) throw invalidValue(key, value)
}

/** R21. Checks count, characters and reserved prefixes; `twice` makes the fault for a duplicate key. */
function checkTags(tags: Pairs, owner: TagOwner, twice: (key: string) => Fault): Pairs {
  const keys = new Set<string>()
  for (const [key] of tags) {
    if (keys.has(key)) throw twice(key)
    keys.add(key)
  }
  const max = owner === 'object' ? TAG_LIMITS.objectTagsMax : TAG_LIMITS.bucketTagsMax
  if (tags.length > max) {
    const what = owner === 'object' ? 'Object tags' : 'Bucket tag count'
    throw new Fault('BadRequest', { reason: `${what} cannot be greater than ${max}` })
  }
  for (const [key, value] of tags) checkTag(key, value)
  return tags
}

/** R21. The header form: `k1=v1&k2=v2`, URL-encoded, `+` for a space. Empty pairs are skipped, as in a query string. */
export function parseTagHeader(header: string): Pairs {
  const pairs = header.split('&').filter(pair => pair !== '')
  const tags = pairs.map((pair): readonly [string, string] => {
    const equals = pair.indexOf('=')
    if (equals < 0) return [decode(pair, header), '']
    return [decode(pair.slice(0, equals), header), decode(pair.slice(equals + 1), header)]
  })
  return checkTags(tags, 'object', () => badEncoding(header))
}

const badEncoding = (header: string): Fault =>
  new Fault('InvalidArgument', {
    ArgumentName: headerName('tagging'),
    ArgumentValue: header,
    reason:
      `The header '${headerName('tagging')}' shall be encoded as UTF-8 then URLEncoded URL query parameters ` +
      'without tag name duplicates.',
  })

function decode(text: string, header: string): string {
  // Bytes beyond ASCII must be percent-encoded, since their encoding is unknown.
  if (!/^[\x20-\x7e]*$/.test(text)) throw badEncoding(header)
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw badEncoding(header)
  }
}

/** The document form: Tagging / TagSet / Tag{Key, Value}. Throws BadXml for any other document. */
export function readTagDocument(root: XmlNode, owner: TagOwner): Pairs {
  onlyChildren(rootNamed(root, 'Tagging'), 'TagSet')
  return readTagSet(requiredChild(root, 'TagSet'), owner)
}

export function readTagSet(set: XmlNode, owner: TagOwner): Pairs {
  onlyChildren(set, 'Tag')
  const tags = children(set, 'Tag').map((tag): readonly [string, string] => {
    onlyChildren(tag, 'Key', 'Value')
    return [requiredText(tag, 'Key'), requiredText(tag, 'Value')]
  })
  return checkTags(
    tags,
    owner,
    key => new Fault('InvalidTag', { reason: 'Cannot provide multiple Tags with the same key', TagKey: key }),
  )
}

export function tagDocument(tags: Pairs): XmlDocument {
  return {
    root: 'Tagging',
    write: to => {
      to.open('TagSet')
      for (const [key, value] of tags) to.open('Tag').leaf('Key', key).leaf('Value', value).close()
      to.close()
    },
  }
}
