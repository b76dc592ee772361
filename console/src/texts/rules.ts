/** Texts of the rules of a bucket. */

import { bytesText, countText } from '../format.ts'
import type { RemovableKind, RuleKind } from '../rules/rule-kinds.ts'
import type { LockFields } from '../rules/small-documents.ts'
import type { XmlProblem } from '../rules/xml-text.ts'

const counted = (count: number, one: string, many: string): string => `${countText(count)} ${count === 1 ? one : many}`
const listed = (names: readonly string[]): string => names.join(', ')

function periodText({ unit, period }: LockFields): string {
  const noun = unit === 'Days' ? 'day' : 'year'
  return `${period === '' ? '?' : period} ${period === '1' ? noun : `${noun}s`}`
}

export const rulesTexts = {
  title: (bucket: string) => `Rules of ${bucket}`,
  all: 'All rules',
  back: 'Where you are',
  kinds: {
    versioning: 'Versioning',
    lifecycle: 'Lifecycle',
    lock: 'Object Lock',
    encryption: 'Encryption',
    cors: 'CORS',
    website: 'Website',
    logging: 'Access log',
    tags: 'Tags',
  } satisfies Record<RuleKind, string>,
  what: {
    versioning: 'Keep what was overwritten or deleted, so that it can be restored.',
    lifecycle: 'Delete objects, old versions and unfinished uploads after some time.',
    lock: 'Retain new versions for a time in which nobody can delete them.',
    encryption: 'How objects are encrypted when a request does not say so.',
    cors: 'Which web pages may read and write objects from a browser.',
    website: 'Serve the objects as web pages, or redirect to another host.',
    logging: 'Write a log of the requests to this bucket into another one.',
    tags: 'Names and values that describe the bucket to people and programs.',
  } satisfies Record<RuleKind, string>,
  state: {
    set: 'Set',
    none: 'Not set',
    on: 'On',
    off: 'Off',
    suspended: 'Suspended',
    unknown: 'Not readable',
    retained: (days: number, mode: string) => `${counted(days, 'day', 'days')}, ${mode}`,
  },
  views: { label: 'Edit as', form: 'Form', document: 'Document' },
  documentOf: (kind: string) => `Document: ${kind}`,
  documentHint: 'The XML that programs read and write. The form shows the same document.',
  save: 'Save',
  discard: 'Discard changes',
  saved: (kind: string) => `Saved: ${kind}.`,
  removed: (kind: string) => `Removed: ${kind}.`,
  unsaved: 'There are changes that are not saved.',
  refusedRead: 'You may not read this',
  refusedWrite: 'You may look at this, but not change it.',
  /** The effect of each button, in one sentence. */
  removal: {
    lifecycle: {
      button: 'Remove all rules',
      means: 'Nothing is deleted by age any more. What was deleted before stays deleted.',
    },
    encryption: {
      button: 'Remove the default',
      means:
        'New objects are encrypted as the server is configured, or as a request asks for it. Existing objects stay ' +
        'as they are.',
    },
    cors: {
      button: 'Remove all rules',
      means: 'Web pages of other origins can no longer read or write objects of this bucket from a browser.',
    },
    website: { button: 'Remove the website', means: 'The site no longer answers. The objects stay.' },
    logging: {
      button: 'Stop logging',
      means: 'Requests are no longer logged. Logs that were written stay in their bucket.',
    },
    tags: {
      button: 'Remove all tags',
      means: 'The bucket has no tags any more. Policies that look for one no longer match.',
    },
  } satisfies Record<RemovableKind, { readonly button: string; readonly means: string }>,
  unknown: (names: readonly string[]) =>
    `The document has ${listed(names)}, which the form does not show. Edit it as a document, so that nothing is lost.`,
  malformed: {
    token: 'This is not an element or a text.',
    unclosed: 'An element is not closed.',
    end: 'This ends an element that is not open here.',
    mixed: 'There is text between elements.',
    entity: 'Write "&" as "&amp;". Only amp, lt, gt, quot and apos are known names.',
    root: 'The document must have exactly one element at the top.',
  } satisfies Record<XmlProblem, string>,
  atLine: (line: number, problem: string) => `Line ${line}: ${problem}`,
  notForm: (problem: string) => `The form cannot show the document. ${problem}`,
  wrongRoot: (name: string, expected: string) => `It begins with ${name} instead of ${expected}.`,
  add: 'Add a rule',
  edit: 'Edit',
  turnOff: 'Turn off',
  turnOn: 'Turn on',
  removeRule: 'Remove rule',
  apply: 'Apply',
  applyHint: 'The change takes effect when you save.',
  ruleNumber: (index: number) => `Rule ${index + 1}`,
  lifecycle: {
    emptyTitle: 'Nothing is deleted by age',
    empty: 'A lifecycle rule deletes objects, old versions or unfinished uploads some days after they were written.',
    off: 'Off',
    noAction: 'This rule does nothing yet.',
    dialog: 'Lifecycle rule',
    name: 'Name',
    nameHint: 'Optional. The server chooses one.',
    applies: 'Applies to',
    prefix: 'Names that begin with',
    prefixHint: 'For example logs/. Empty: every name.',
    tags: 'Objects with all of these tags',
    largerThan: 'Larger than (bytes)',
    smallerThan: 'Smaller than (bytes)',
    objects: 'Objects',
    expiry: 'Delete objects',
    expiries: {
      never: 'Never',
      days: 'Some days after they were written',
      date: 'On a date',
      markers: 'Only delete markers that have no version left',
    },
    expiryHint: {
      off: 'This bucket keeps no versions: what the rule deletes is gone.',
      on:
        'This bucket keeps versions: the rule adds a delete marker, and the versions stay until another rule or a ' +
        'person deletes them.',
      suspended: 'Versioning is suspended: the rule adds a delete marker and replaces the version "null".',
    },
    days: 'Days',
    date: 'Date (midnight UTC)',
    versions: 'Old versions',
    noncurrent: 'Delete versions that were replaced',
    noncurrentDays: 'Days after they were replaced',
    keepNewest: 'Keep the newest',
    keepNewestHint: '1 to 100. Empty: keep none.',
    uploads: 'Unfinished uploads',
    abortDays: 'Abort uploads after days',
    abortHint: 'Empty: never. Their parts use space until then.',
    notWithFilter: 'Not possible with tags or sizes.',
    wrong: {
      size: 'A size must be a whole number of bytes.',
      sizes: 'No object is larger than the first size and smaller than the second. Change one of them.',
      days: 'Say after how many days objects are deleted: a whole number from 1 on.',
      date: 'Choose the date on which objects are deleted.',
      noncurrentDays: 'Say how many days after they were replaced versions are deleted: a whole number from 1 on.',
      keepNewest: 'The number of newest versions to keep must be from 1 to 100, or empty.',
      abortDays: 'Say after how many days uploads are aborted: a whole number from 1 on, or nothing for never.',
      narrowUploads: 'Uploads have no tags and no size yet: abort them by another rule, without tags and sizes.',
      narrowMarkers: 'Delete markers have no tags and no size: remove them by another rule, without tags and sizes.',
      nothing: 'The rule does nothing yet: choose what it deletes, or which uploads it aborts.',
    },
    confirmTitle: 'Save these rules?',
    confirmText: 'From now on, the server does this by itself, again and again:',
    confirmOther: (name: string) => `${name}: as its document says.`,
    confirmLook: 'The preview tells which objects that would be now, or in some days.',
    confirm: 'Save the rules',
  },
  preview: {
    title: 'Preview',
    text: 'What the rules above would do to the objects there are now. Nothing is deleted by looking.',
    days: 'In days',
    daysHint: '0 is now.',
    daysWrong: 'A number from 0 to 36,500.',
    show: 'Show preview',
    at: (time: string) => `As of ${time}:`,
    none: 'These rules would do nothing.',
    totals: (actions: number, bytes: number) => `${counted(actions, 'action', 'actions')}, ${bytesText(bytes)}.`,
    locked: (count: number) =>
      count === 1
        ? '1 version is locked by a hold or retention and stays.'
        : `${countText(count)} versions are locked by a hold or retention and stay.`,
    incomplete: 'The bucket is large: only the first 100,000 entries were looked at.',
    first: (shown: number) => `The first ${countText(shown)}:`,
    table: 'What would happen',
    action: 'Action',
    name: 'Name',
    size: 'Size',
    due: 'Due',
    stays: 'Stays: locked',
    actions: {
      'delete object': 'Delete object',
      'add delete marker': 'Add delete marker',
      'remove version': 'Delete version',
      'remove delete marker': 'Remove delete marker',
      'abort upload': 'Abort upload',
    },
    changed: 'The rules have changed since. Show the preview again.',
  },
  cors: {
    emptyTitle: 'No web page may use this bucket',
    empty:
      'Browsers let a page of another origin read a response only if a CORS rule names the origin and the method. ' +
      'Permission is still needed.',
    sentence: (methods: readonly string[], origins: readonly string[]) =>
      `${listed(methods)} from ${origins.includes('*') ? 'every origin' : listed(origins)}`,
    headersSentence: (headers: readonly string[]) => `Request headers: ${listed(headers)}`,
    exposedSentence: (headers: readonly string[]) => `Readable response headers: ${listed(headers)}`,
    dialog: 'CORS rule',
    name: 'Name',
    nameHint: 'Optional.',
    origins: 'Origins',
    originsNeeded: 'Name at least one origin, or * for all.',
    methodsNeeded: 'Choose at least one method.',
    originsHint: 'One per line, such as https://app.example.com. One * stands for any characters.',
    methods: 'Methods',
    headers: 'Request headers that pages may send',
    headersHint: 'One per line. * allows all.',
    exposed: 'Response headers that pages may read',
    exposedHint: 'One per line, such as ETag.',
    maxAge: 'Browsers may remember the answer (seconds)',
    check: 'Would a page be allowed?',
    checkOrigin: 'Origin of the page',
    checkMethod: 'Method',
    checkHeaders: 'Headers it sends, separated by commas',
    allowed: (rule: string) => `Allowed, by ${rule}.`,
    refused: 'Not allowed: no rule names this origin, this method and all of these headers. Add them to one.',
  },
  website: {
    emptyTitle: 'No website',
    empty: 'The bucket can be served as a site: an index page for every folder, and a page for errors.',
    start: 'Set up a website',
    kind: 'The site',
    kinds: { pages: 'Serves the objects', redirect: 'Redirects every request' },
    kindFixed: 'A site with routing rules cannot redirect every request.',
    index: 'Index document',
    indexHint: 'Answers for the site and for every folder.',
    error: 'Error document',
    errorHint: 'The whole key. Empty: a plain error page.',
    hostName: 'Host name',
    protocol: 'Protocol',
    protocols: { '': 'As the request', http: 'http', https: 'https' },
    routing: (count: number) => `${counted(count, 'routing rule', 'routing rules')} in the document. Edit them there.`,
    wrongIndex: 'The index document needs a name without slashes, such as index.html: every folder has its own.',
    wrongHost:
      'A redirect needs the name of a host alone, such as www.example.com, without https:// and without a path.',
    hostNameHint: 'Such as www.example.com, with a port if need be.',
    protocolHint: 'Of the address that visitors are sent to.',
    public: 'Visitors are anonymous: a policy must let everyone read the objects (s3:GetObject).',
    toAccess: 'Set it on the access page',
    address: 'The site answers at',
    dns: 'The name must lead to this server: a wildcard record in the DNS does that for every bucket.',
  },
  encryption: {
    emptyTitle: 'No default of the bucket',
    empty: 'Objects are encrypted as the server is configured, or as a request asks for it.',
    start: 'Set a default',
    algorithm: 'Encrypt new objects with',
    algorithms: {
      '': 'Nothing by default',
      AES256: 'A key of the server (AES256)',
      'aws:kms': 'A named key (aws:kms)',
      'aws:kms:dsse': 'A named key, stated as double (aws:kms:dsse)',
    },
    keyId: 'Name of the key',
    keyIdHint: "Empty: the server's default key.",
    bucketKey: 'Bucket key',
    bucketKeys: { '': 'Not stated', true: 'On', false: 'Off' },
    bucketKeyHint: 'Stored and shown to programs. Every object has a key of its own either way.',
    blocks: 'Refuse objects that are encrypted with a key of the client (SSE-C)',
    existing: 'This applies to new objects. Existing objects stay as they are.',
  },
  logging: {
    emptyTitle: 'Requests are not logged',
    empty: 'The access log of a bucket is written as objects into another bucket of the same owner.',
    start: 'Log requests',
    target: 'Write the log into',
    choose: 'Choose a bucket',
    targetHint: 'Another bucket of the same owner.',
    needed: 'The log needs a bucket to be written into. Choose one, or create it first.',
    prefix: 'Begin the names with',
    prefixHint: 'For example logs/photos/.',
    grant:
      'The bucket must let the log be delivered: a policy that allows the service logging.s3.amazonaws.com ' +
      's3:PutObject there, or an ACL that gives the group LogDelivery WRITE and READ_ACP.',
    statement: 'A statement for the policy of that bucket.',
    toPolicy: (bucket: string) => `Open the policy of ${bucket}`,
    copyStatement: 'Copy the statement',
  },
  lock: {
    emptyTitle: 'Object Lock is off',
    empty:
      'With Object Lock, versions can be put on hold or retained, so that nobody can delete them. Once on, it stays ' +
      'on, and versioning with it.',
    needsVersions: 'Object Lock needs versions. Turn versioning on first.',
    toVersioning: 'Go to versioning',
    start: 'Turn on Object Lock',
    mode: 'Retain new versions',
    modes: { '': 'Only if a request says so', GOVERNANCE: 'Governance', COMPLIANCE: 'Compliance' },
    period: 'For this long',
    unit: 'Unit',
    units: { Days: 'days', Years: 'years' },
    means: {
      '': 'New versions can be deleted unless the request that wrote them, or a person, locks them.',
      GOVERNANCE: 'Only someone with the permission s3:BypassGovernanceRetention can delete a version earlier.',
      COMPLIANCE: 'Nobody can delete a version earlier or shorten its retention, not even an administrator.',
    },
    wrongPeriod: (max: number, unit: string) =>
      `The period must be a whole number from 1 to ${countText(max)} ${unit}.`,
    existing: 'Versions that exist already stay as they are.',
    confirmTitle: 'Before you save',
    confirmOn: 'Object Lock cannot be turned off again, and versioning cannot be suspended any more.',
    confirmRetention: (form: LockFields) =>
      `From now on, every new version is retained for ${periodText(form)}. ${
        form.mode === 'COMPLIANCE'
          ? 'Nobody can delete it earlier or shorten that, not even an administrator: the space is used until then.'
          : 'Only someone with the permission s3:BypassGovernanceRetention can delete it earlier.'
      }`,
    confirm: 'I understand, save',
  },
  tags: {
    emptyTitle: 'No tags',
    empty: 'Tags describe a bucket, such as team=search or cost-centre=1234. Policies can refer to them.',
    start: 'Add tags',
    label: 'Tags',
    name: 'Name',
    value: 'Value',
    nameOf: (index: number) => `Name of tag ${index + 1}`,
    valueOf: (index: number) => `Value of tag ${index + 1}`,
    add: 'Add a tag',
    remove: (index: number) => `Remove tag ${index + 1}`,
  },
} as const

export const versioningTexts = {
  state: { off: 'Off', on: 'On', suspended: 'Suspended' },
  text: {
    off: 'Overwriting and deleting are final.',
    on: 'Every version is kept until it is deleted itself or a lifecycle rule removes it.',
    suspended: 'New writes replace the version "null"; older versions stay.',
  },
  turnOn: 'Keep versions',
  suspend: 'Suspend versioning',
  suspendWhat: 'Once suspended, overwriting and deleting are final for new objects. Existing versions stay.',
  lockKeepsOn: 'Object Lock needs versions, so versioning cannot be suspended here.',
  changed: 'Versioning was changed.',
} as const
