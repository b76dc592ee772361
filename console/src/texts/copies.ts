/** Texts of copies: of one object with other headers, under another name, and of many. */
import { bytesText, countText } from '../format.ts'
import { counted, objectsText } from './texts.ts'

export const copyTexts = {
  namelessFolder:
    'A folder needs a name. Leave out the slash at the beginning, and write one slash, not two, between folders.',
  noConfirmation: 'The server did not confirm the copy. Try again.',
} as const

export const keptAclTexts = {
  off: (count: number) =>
    `Its ACL has ${counted(count, 'grant', 'grants')}, which cannot be kept: the ownership controls of that bucket ` +
    'turn ACLs off, and only its owner and its policy give access there.',
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
  copiedOnly: 'The object is under both names now: it was copied, but the old one could not be deleted.',
  renamed: (key: string) => `Renamed to ${key}.`,
  copied: (key: string) => `Copied to ${key}.`,
} as const

const VERBS = { copy: 'Copy', move: 'Move' } as const
const DOING = { copy: 'Copying', move: 'Moving' } as const
const DONE = { copy: 'copied', move: 'moved' } as const

type Kind = keyof typeof VERBS

export const copyManyTexts = {
  open: { copy: 'Copy…', move: 'Move…' },
  folderMenu: 'More actions on this folder',
  openFolder: { copy: 'Copy this folder…', move: 'Move this folder…' },
  title: (kind: Kind, count: number) => `${VERBS[kind]} ${counted(count, 'entry', 'entries')}`,
  counting: (count: number) => `Counting: ${objectsText(count)} so far`,
  nothing: 'There is nothing in it: the folders are empty.',
  bucket: 'Bucket',
  folder: 'Folder',
  folderHint: 'With all folders above it. Empty for the top of the bucket.',
  same: 'Choose another bucket or folder: they are there already.',
  inside: 'A folder cannot go into itself.',
  meeting:
    'Some of them would replace others of them before those are copied. Do not replace, or choose another folder.',
  existing: 'Names that exist there already',
  choices: { skip: 'Skip them', replace: 'Replace them', rename: 'Keep both: copies get a number in their name' },
  replaced: {
    on: 'The bucket keeps versions: what is replaced stays among them.',
    off: 'The bucket keeps no versions: what is replaced is lost.',
    suspended: 'Versioning is suspended in the bucket: versions from before stay, later ones are replaced.',
    unknown: 'If the bucket keeps no versions, what is replaced is lost.',
  },
  withAcl: 'Copy the grants of their ACLs, too',
  withAclHint: 'Otherwise only the owner of the copies has access by their ACLs.',
  moving:
    'Each object is deleted here once its copy is confirmed, unless it was changed meanwhile. Older versions stay ' +
    'under the old names, except the version "null" where versioning is suspended. Held and retained objects are not ' +
    'moved, but listed at the end.',
  unseenLocks: (reason: string) =>
    'You may not see holds and retention, so that held objects are moved as well; their held versions stay among ' +
    `those of the old names. ${reason}`,
  keepsAcl: 'The grants of ACLs are kept.',
  aclsOff:
    'Access control lists do not apply in that bucket and are not kept: its ownership controls turn them off, and ' +
    'only its owner and its policy give access there.',
  losesAcl: (reason: string) => `The grants of ACLs cannot be kept; only the owner gets access. ${reason}`,
  submit: (kind: Kind, count: number, bytes: number) => `${VERBS[kind]} ${objectsText(count)} (${bytesText(bytes)})`,
  notMoved: 'It is held or retained. The hold would stay with the version under the old name. Copy it instead.',
  panel: 'Copies and moves',
  job: (kind: Kind, count: number, to: string) => `${DOING[kind]} ${objectsText(count)} to ${to}`,
  ended: (kind: Kind, to: string) => `${DONE[kind] === 'copied' ? 'Copied' : 'Moved'} to ${to}`,
  progress: (kind: Kind, done: number, all: number) => `${countText(done)} of ${countText(all)} ${DONE[kind]}`,
  skipped: (count: number) => `${countText(count)} skipped`,
  failed: (count: number) => `${countText(count)} failed`,
  withoutAcls: 'without ACLs, which do not apply there',
  stopped: 'stopped',
  stop: 'Stop',
  goOn: 'Go on',
  retry: 'Try the failed ones again',
  remove: 'Remove from the list',
  showFailures: 'Show the failures',
  failuresTitle: (kind: Kind, count: number) => `${objectsText(count)} not ${DONE[kind]}`,
  copiedOnly: 'The copy is there; only the old object could not be deleted.',
  andMore: (count: number) => `and ${countText(count)} more`,
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
  kept:
    'The bytes, tags, ACL, encryption, storage class and checksum stay the same; the time of modification is new, ' +
    'and above 5 GiB the ETag.',
  keptWithoutAcl:
    'The bytes, tags, encryption, storage class and checksum stay the same; the time of modification is new, and ' +
    'above 5 GiB the ETag.',
  locked:
    'Hold and retention belong to the present version and stay with it. The new version has neither, unless the ' +
    'bucket has a default retention.',
  save: 'Save',
  saved: 'Headers and metadata saved.',
  changed: 'The object has changed since this page read it. Close this and look at it again.',
} as const
