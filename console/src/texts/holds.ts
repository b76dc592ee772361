/** Texts of legal holds and retention: of one object, of many, and of a whole bucket. */
import { countText } from '../format.ts'

const counted = (count: number, one: string, many: string): string => `${countText(count)} ${count === 1 ? one : many}`
const versionsText = (count: number): string => counted(count, 'version', 'versions')
const keysText = (count: number): string => counted(count, 'object', 'objects')
const isOrAre = (count: number): string => (count === 1 ? 'is' : 'are')

export const holdsTexts = {
  hold: {
    title: 'Legal hold',
    on: 'On.',
    off: 'Off.',
    unknown: 'You may not see whether this version is on hold: that needs s3:GetObjectLegalHold.',
    onText: 'Nobody, not even the root account, can delete this version until the hold is released.',
    offText: 'A legal hold keeps this version for as long as you need it, without a date.',
    since: (time: string, by: string) => `Since ${time}, by ${by}.`,
    put: 'Put on legal hold',
    release: 'Release the hold',
    putTitle: 'Put this version on legal hold?',
    putMeaning: [
      'Nobody, not even the root account, can delete this version until the hold is released.',
      'Overwriting the object adds a newer version; this one stays.',
      'Everyone with the permission s3:PutObjectLegalHold can release it. Both steps are in the ledger.',
    ],
    releaseTitle: 'Release the hold on this version?',
    releaseMeaning: (until: string | undefined) => [
      until === undefined
        ? 'This version can be deleted as soon as the hold is released.'
        : `Its retention still keeps this version until ${until}.`,
      'The ledger records who released it, and when.',
    ],
    wasPut: 'The version is on legal hold.',
    wasReleased: 'The hold was released.',
  },
  retention: {
    title: 'Retention',
    none: 'None.',
    unknown: 'You may not see whether this version is retained: that needs s3:GetObjectRetention.',
    noneText: 'Retention keeps this version until a date that you choose.',
    ended: (time: string) => `Ended on ${time}: it no longer keeps this version.`,
    modes: { governance: 'Governance', compliance: 'Compliance' },
    until: (mode: string, time: string) => `${mode}, until ${time}.`,
    means: {
      governance:
        'It can be extended. Shortening or lifting it, and deleting the version earlier, needs the permission ' +
        's3:BypassGovernanceRetention.',
      compliance:
        'Nobody, not even the root account, can delete this version earlier or shorten this. It can be extended.',
    },
    since: (time: string, by: string) => `Set on ${time}, by ${by}.`,
    set: 'Retain until a date',
    change: 'Change retention',
    extend: 'Extend retention',
    lift: 'Lift retention',
    setTitle: 'Retain this version',
    mode: 'Mode',
    modeHints: {
      governance: 'Those with the bypass permission can lift it.',
      compliance: 'Nobody can shorten or lift it.',
    },
    date: 'Until the end of',
    dateHint: 'The day counts in the time zone of this browser.',
    periods: { 30: '30 days', 365: '1 year', 2557: '7 years' } as Readonly<Record<number, string>>,
    periodsLabel: 'Common periods',
    dateNeeded: 'Choose a day from tomorrow on, within the next hundred years.',
    bypass: 'Bypass governance retention',
    bypassHint: 'Needed to shorten it, to lift it or to change its mode. The ledger records that it was bypassed.',
    meaning: {
      governance: (time: string) => [
        `Until ${time}, nobody can delete this version without bypassing governance retention.`,
        'Those with s3:BypassGovernanceRetention can shorten or lift it; others can only extend it.',
      ],
      compliance: (time: string) => [
        `Nobody, not even the root account, can delete this version before ${time}.`,
        'Compliance retention cannot be shortened or lifted by anyone. Check the date.',
      ],
    },
    shorter: (time: string) => `This version is retained until ${time}. A shorter retention needs the bypass.`,
    shorterCompliance: (time: string) =>
      `This version is retained until ${time} in compliance mode. You can only choose a later day in the same mode.`,
    liftTitle: 'Lift the retention of this version?',
    liftMeaning: (isHeld: boolean) => [
      isHeld ? 'The legal hold still keeps this version.' : 'This version can be deleted as soon as it is lifted.',
      'Lifting bypasses governance retention. The ledger records that, and who did it.',
    ],
    confirm: 'Retain',
    wasSet: (time: string) => `Retained until ${time}.`,
    wasLifted: 'The retention was lifted.',
  },
  noLock: {
    title: 'This bucket has no Object Lock',
    text: 'Holds and retention need it. It needs versioning, and once on, neither of them can be turned off again.',
    toRules: 'Open the rule of Object Lock',
  },
  noVersion: {
    title: 'There is nothing to hold here',
    text: 'This version does not exist any more, or it is a delete marker. Choose another one among the versions.',
  },
  list: {
    title: (bucket: string) => `Holds of ${bucket}`,
    label: (bucket: string) => `Held and retained versions of ${bucket}`,
    prefix: 'Keys that begin with',
    key: 'Object',
    why: 'Why',
    since: 'Since',
    until: 'Until',
    olderVersion: 'older version',
    hold: 'Legal hold',
    retentionEnded: (mode: string) => `${mode}, ended`,
    withoutEnd: 'Until released',
    untilTime: (end: string) => `Until ${end}`,
    releasedAndAfter: (end: string) => `Until released, and not before ${end}`,
    sinceWritten: 'Since it was written',
    by: (who: string) => `by ${who}`,
    user: (user: string, account: string) => `${user} of ${account}`,
    release: 'Release',
    lift: 'Lift',
    liftOf: (key: string) => `Lift the retention of ${key}`,
    actions: 'Actions',
    releaseOf: (key: string) => `Release the hold on ${key}`,
    holdPrefix: 'Hold or retain…',
    exportCsv: 'Export CSV',
    exporting: (count: number) => `Reading ${versionsText(count)}`,
    loaded: (count: number, isAll: boolean) => (isAll ? versionsText(count) : `${versionsText(count)} so far`),
    searching: 'Reading on',
    emptyTitle: 'Nothing is held or retained',
    empty:
      'A legal hold keeps a version until it is released; retention keeps it until a date. Set either on the page ' +
      'of an object, or for many objects with "Hold or retain…".',
    emptyPrefix: (prefix: string) => `Nothing that begins with "${prefix}" is held or retained.`,
    csvColumns: [
      'key',
      'version',
      'current',
      'size',
      'hold',
      'held since',
      'held by',
      'mode',
      'until',
      'in force',
      'retained since',
      'retained by',
    ],
  },
  many: {
    title: 'Hold or retain',
    prefix: 'Keys that begin with',
    prefixHint: 'Leave it empty for the whole bucket.',
    count: 'Count',
    counting: (count: number) => `Counting: ${versionsText(count)} so far`,
    nothing: 'There is nothing to hold: no version was found.',
    scope: 'Which versions',
    current: (count: number) => `Current versions (${countText(count)})`,
    all: (count: number) => `All versions (${countText(count)})`,
    found: (keys: number, versions: number) => `${keysText(keys)} with ${versionsText(versions)}.`,
    already: (held: number, retained: number) =>
      held + retained === 0
        ? 'None of the chosen versions is held or retained yet.'
        : `Of the chosen versions, ${countText(held)} ${isOrAre(held)} on hold and ${countText(retained)} ` +
          `${isOrAre(retained)} retained already.`,
    action: 'What to do',
    actions: {
      hold: 'Put on legal hold',
      release: 'Release legal holds',
      retain: 'Retain until a date',
      lift: 'Lift governance retention',
    },
    meaning: {
      hold: (count: number) =>
        `${versionsText(count)} will be on hold. Nobody, not even the root account, can delete ` +
        `${count === 1 ? 'it' : 'them'} until released.`,
      release: (count: number) =>
        `The hold on ${versionsText(count)} will be released. What is not retained can be deleted from then on.`,
      governance: (count: number, time: string) =>
        `${versionsText(count)} will be retained until ${time}. Only those with s3:BypassGovernanceRetention can ` +
        'shorten that.',
      compliance: (count: number, time: string) =>
        `${versionsText(count)} will be retained until ${time}. Nobody, not even the root account, can shorten ` +
        'that or delete earlier. Check the date.',
      lift: (count: number) =>
        `The governance retention of ${versionsText(count)} will be lifted. What is not on hold can be deleted from ` +
        'then on.',
    },
    unchanged: (count: number) => `${versionsText(count)} ${isOrAre(count)} like that already and will not be touched.`,
    longer: (count: number) =>
      `${versionsText(count)} ${isOrAre(count)} retained for longer, or in a stricter mode, and will not be touched.`,
    needsBypass: (count: number) =>
      `${versionsText(count)} ${isOrAre(count)} retained for longer in governance mode. Choose the bypass to change ` +
      'them, too.',
    confirm: {
      hold: (count: number) => `Hold ${versionsText(count)}`,
      release: (count: number) => `Release ${versionsText(count)}`,
      retain: (count: number) => `Retain ${versionsText(count)}`,
      lift: (count: number) => `Lift for ${versionsText(count)}`,
    },
    progress: (done: number, all: number) => `${countText(done)} of ${versionsText(all)}`,
    stop: 'Stop',
    stopped: (done: number, all: number) =>
      `Stopped after ${countText(done)} of ${versionsText(all)}. The rest is unchanged.`,
    done: (count: number) => `${versionsText(count)} changed.`,
    refused: (count: number) => `${versionsText(count)} could not be changed`,
    andMore: (count: number) => `and ${countText(count)} more`,
  },
} as const
