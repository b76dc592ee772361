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
