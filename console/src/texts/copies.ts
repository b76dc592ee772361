/** Texts of copies: of one object with other headers, under another name, and of many. */
import { counted } from './texts.ts'

export const keptAclTexts = {
  otherOwner: (name: string) =>
    `It belongs to ${name}. What is written now belongs to you, unless the bucket hands all objects to its owner.`,
  unreadable: (reason: string) =>
    `Its ACL cannot be kept, since you may not read it; only its owner gets access. ${reason}`,
  notSettable: (count: number, reason: string) =>
    `Its ACL has ${counted(count, 'grant', 'grants')}, which cannot be kept, since you may not set ACLs; only its ` +
    `owner gets access. ${reason}`,
}

export const renameTexts = {
  title: 'Rename or copy',
  to: 'New name',
  toHint: 'The whole key, with its folders.',
  bucket: 'Bucket',
  acts: { rename: 'Rename', copy: 'Copy' },
  what: 'A rename writes the object under the new name, with its ACL, and then deletes the old one.',
  withAcl: 'Copy the grants of its ACL, too',
  withAclHint: 'Otherwise only the owner of the copy has access by its ACL. A rename keeps the grants.',
  exists: 'An object of this name exists there. Doing it anyway replaces it.',
  locked:
    'The object is held or retained. Both stay with its version under the old name, which can be found among the ' +
    'versions of that name; the new object has neither, unless its bucket has a default retention.',
  replace: 'Replace it',
  anyway: { rename: 'Rename anyway', copy: 'Copy anyway' },
  same: 'Choose another name or bucket.',
  renamed: (key: string) => `Renamed to ${key}.`,
  copied: (key: string) => `Copied to ${key}.`,
} as const

export const describeTexts = {
  title: 'Edit headers and metadata',
  contentType: 'Content type',
  contentTypeHint: 'Such as text/html; charset=utf-8. Empty for binary/octet-stream.',
  fields: {
    'cache-control': 'Cache-Control',
    'content-disposition': 'Content-Disposition',
    'content-encoding': 'Content-Encoding',
    'content-language': 'Content-Language',
    expires: 'Expires',
  } as Readonly<Record<string, string>>,
  metadata: 'User metadata',
  pairs: {
    name: 'Name',
    value: 'Value',
    nameOf: (index: number) => `Name of metadata ${index + 1}`,
    valueOf: (index: number) => `Value of metadata ${index + 1}`,
    add: 'Add metadata',
    remove: (index: number) => `Remove metadata ${index + 1}`,
  },
  wrongName: (name: string) => `"${name}" cannot be a name: use letters, digits and - . _ without spaces.`,
  sameName: (name: string) => `There are two values of "${name}".`,
  wrongValue: 'A value cannot have line breaks or other control characters.',
  means: {
    on: 'The object is copied onto itself: a new version with these values becomes current, and the present one stays.',
    off: 'The object is copied onto itself, which replaces it: the bucket keeps no versions. The old values are lost.',
    suspended:
      'The object is copied onto itself. Versioning is suspended: if the present version was written since then, it ' +
      'is replaced; an older one stays.',
    unknown: 'The object is copied onto itself. If the bucket keeps no versions, the old values are lost.',
  },
  kept: 'The bytes, tags, ACL, encryption, storage class and checksum stay the same; the time of modification is new.',
  keptWithoutAcl:
    'The bytes, tags, encryption, storage class and checksum stay the same; the time of modification is new.',
  locked:
    'Hold and retention belong to the present version and stay with it. The new version has neither, unless the ' +
    'bucket has a default retention.',
  save: 'Save',
  saved: 'Headers and metadata saved.',
  changed: 'The object has changed since this page read it. Close this and look at it again.',
} as const
