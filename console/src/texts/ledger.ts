/** Texts of the ledger. */
import { countText } from '../format.ts'
import type { Kind } from '../ledger/entry.ts'
import type { LedgerFault } from '../ledger/verification.ts'

const entriesText = (count: number): string => `${countText(count)} ${count === 1 ? 'entry' : 'entries'}`
const daysText = (count: number): string => `${countText(count)} ${count === 1 ? 'day' : 'days'}`

/** Where a sentence names an object, its key stands between the two parts. */
type Sentence = readonly [before: string, after: string]

export const ledgerTexts = {
  list: {
    title: 'Ledger',
    lead:
      'Every bucket with Object Lock has a ledger: who changed a hold or a retention, who bypassed one, and which ' +
      'deletes were refused. Each entry contains the hash of the one before, and the server signs the end.',
    label: 'Ledgers',
    store: 'The store itself',
    storeText: 'Encryption keys and the lock clock.',
    outlives: 'A ledger outlives its bucket.',
    emptyTitle: 'No ledger yet',
    empty: 'A ledger begins when a bucket gets Object Lock. Create a bucket with it, or turn it on in an existing one.',
    key: 'Signing key',
    adminOnly: 'Only administrators may read ledgers',
    adminOnlyText: 'A ledger tells who did what in all accounts. Ask an administrator for an export.',
  },
  key: {
    publicKey: 'Public key',
    fingerprint: 'Fingerprint (SHA-256)',
    copy: 'Copy the public key',
    trust:
      'The server says that this is its key. Trust in it comes from outside: compare it with the key that you were ' +
      'given in another way, for example by "holdfast ledger list" on the server.',
  },
  one: {
    title: (bucket: string) => `Ledger of ${bucket}`,
    storeTitle: 'Ledger of the store',
    path: 'Ledgers',
    filter: 'Object, version, account, user, key',
    kind: 'Kind',
    everything: 'Everything',
    kinds: {
      holds: 'Holds',
      retention: 'Retention',
      created: 'Written with a lock',
      refused: 'Refusals',
      removed: 'Bypassed deletes',
      configuration: 'Object Lock of the bucket',
      keys: 'Keys and clock',
    } as Readonly<Record<Kind, string>>,
    label: 'Entries, newest first',
    number: 'Entry',
    time: 'Time',
    what: 'What happened',
    who: 'Who',
    count: (count: number) => entriesText(count),
    found: (found: number, read: number, all: number) =>
      read < all
        ? `${entriesText(found)} found, ${countText(read)} of ${countText(all)} searched`
        : `${entriesText(found)} of ${countText(all)}`,
    noneFound: 'No entry matches.',
    wrong: 'Wrong',
    emptyTitle: 'There is no such ledger',
    empty: 'A ledger begins when a bucket gets Object Lock, and this name never had one.',
    unreadable: 'This line is no entry of a ledger.',
    user: (user: string, account: string) => `${user} of ${account}`,
    server: 'the server itself',
    anonymous: 'an anonymous caller',
    version: (id: string) => `Version ${id}`,
    readAgain: 'Read again',
  },
  verification: {
    title: 'Verification',
    start: 'Verify in this browser',
    again: 'Verify again',
    cancel: 'Stop',
    large: (count: number) => `${entriesText(count)} have to be read for it.`,
    running: (done: number, all: number) => `Verifying: ${countText(done)} of ${entriesText(all)}`,
    verified: (count: number) => `Verified: ${entriesText(count)}, unchanged and complete`,
    verifiedText: (time: string) =>
      'Your browser has computed the hash of every entry, followed the chain from the beginning to the end, and ' +
      `checked the signature of ${time}.`,
    unsignedTitle: (count: number) => `The chain of ${entriesText(count)} is unbroken`,
    unsignedText: 'This browser cannot check Ed25519 signatures, so the signature of the end was not verified.',
    continues: (count: number) => `It continues the earlier export of ${entriesText(count)}.`,
    brokenAt: (sequence: number) => `Not verified: entry ${countText(sequence)} is wrong`,
    broken: 'Not verified',
    before: (count: number) => `The ${entriesText(count)} before it are as they were written.`,
    show: (sequence: number) => `Show entry ${countText(sequence)}`,
    faults: {
      header: 'The header is not that of a ledger.',
      'other ledger': 'The header names another ledger than the one that was asked for.',
      'other key': 'The ledger names another signing key than the one that you know.',
      entry: 'The line is no entry of a ledger.',
      altered: 'The entry was changed after it was written: its hash does not match.',
      sequence: 'An entry before this one is missing, or the entries are not in order.',
      chain: 'The entry does not continue the one before it.',
      earlier: 'The ledger does not continue the earlier export: entries were changed or taken back since.',
      closing: 'The closing line is not that of a ledger.',
      count: 'There are more entries than the signed end counts.',
      last: 'The signed end names another last entry.',
      signature: 'The signature of the end was not made by this key.',
      truncated: 'The end is cut off: there are fewer entries than were signed.',
    } as Readonly<Record<LedgerFault, string>>,
    whatNow:
      'Do not rely on this ledger. Export it as it is, compare it with earlier exports, and look at the server: its ' +
      'disk may be damaged, or somebody changed its data.',
    impossible: 'This browser cannot verify here',
    impossibleText:
      'Browsers offer cryptography only over HTTPS and on localhost. Open the console that way, verify an export ' +
      'with the command below, or ask the server for its own verdict.',
    askServer: 'Ask the server',
    serverWhole: (count: number) => `The server says: ${entriesText(count)}, complete and signed.`,
    serverBroken: (reason: string) => `The server says: ${reason}.`,
    serverWord: 'That is the word of the server about itself.',
    known: 'Public key that you know',
    knownHint: 'Optional. The ledger must be signed by this key, in hexadecimal.',
    knownWrong: 'A public key has 64 hexadecimal digits.',
    earlier: 'Compare with an earlier export',
    earlierChosen: (name: string, count: number) => `${name}: ${entriesText(count)}`,
    earlierWrong: (name: string) => `${name} is no whole export of this ledger.`,
  },
  auditor: {
    title: 'For an auditor',
    text:
      'The export has every line as it was written and the signed end. It is verified without this server, with the ' +
      'public key that the auditor got in another way:',
    export: 'Export NDJSON',
    exporting: (done: number) => `Reading ${entriesText(done)}`,
    since: 'Add --since EARLIER.ndjson to prove that it continues an earlier export.',
  },
  sentences: {
    lockOn: 'Turned on Object Lock',
    lockDefault: (mode: string, days: number) => `Set the default retention: ${mode}, ${daysText(days)}`,
    lockOnWithDefault: (mode: string, days: number) =>
      `Turned on Object Lock with a default retention: ${mode}, ${daysText(days)}`,
    noDefault: 'Removed the default retention',
    configuration: 'Changed the Object Lock settings',
    bucketRemoved: 'Deleted the bucket',
    hold: ['Put ', ' on legal hold'] as Sentence,
    release: ['Released the legal hold on ', ''] as Sentence,
    retain: (mode: string, until: string): Sentence => ['Retained ', ` until ${until} (${mode})`],
    retainFrom: (mode: string, until: string, from: string): Sentence => [
      'Changed the retention of ',
      ` from ${from} to ${until} (${mode})`,
    ],
    lift: ['Lifted the retention of ', ''] as Sentence,
    bypass: ', bypassing governance retention',
    created: (locks: string): Sentence => ['Wrote ', ` ${locks}`],
    withHold: 'on legal hold',
    withRetention: (mode: string, until: string) => `retained until ${until} (${mode})`,
    and: ' and ',
    removed: ['Deleted ', ', bypassing governance retention'] as Sentence,
    deleteRefused: (reason: string): Sentence => ['Tried to delete ', ` and was refused: ${reason}`],
    retentionRefused: (reason: string): Sentence => [
      'Tried to weaken the retention of ',
      ` and was refused: ${reason}`,
    ],
    reasons: {
      held: 'it is on legal hold',
      compliance: 'compliance retention is in force',
      governance: 'governance retention is in force',
    } as Readonly<Record<string, string>>,
    times: (count: number) => ` (${countText(count)} times)`,
    clockConfirmed: (from: string, to: string) => `Confirmed the clock: locks end by ${to} instead of ${from}`,
    keyDisabled: (name: string) => `Disabled the encryption key ${name}`,
    keyEnabled: (name: string) => `Enabled the encryption key ${name}`,
    keyRotated: (of: string, name: string, version: number) =>
      `Rotated the ${of} key${name === '' ? '' : ` ${name}`}: version ${version}`,
    keysRewrapped: 'Began to wrap all content keys anew',
    other: (what: string): Sentence => [`${what} `, ''],
  },
} as const
