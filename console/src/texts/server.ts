/** Texts of the server's pages. */
import { bytesText, countText } from '../format.ts'
import type { ServerPart } from '../router.tsx'

const plural = (count: number, one: string, many: string): string => `${countText(count)} ${count === 1 ? one : many}`
const minutesText = (minutes: number): string => (minutes <= 1 ? 'the last minute' : `the last ${minutes} minutes`)

export const serverTexts = {
  title: 'Server',
  tabsLabel: 'Pages of the server',
  tabs: {
    '': 'Dashboard',
    processes: 'Processes',
    integrity: 'Integrity',
    encryption: 'Encryption keys',
    usage: 'Usage',
    configuration: 'Configuration',
  } as const satisfies Readonly<Record<ServerPart, string>>,
  dashboard: {
    view: 'Show as',
    plots: 'Plots',
    tables: 'Tables',
    waiting: 'Measuring. The first values appear in a few seconds.',
    paused: 'The server did not answer the last request for metrics. The plots go on when it does.',
    state: 'State',
    ready: 'Ready',
    notReady: 'Not ready',
    about: (version: string, uptime: string) => `Version ${version}, up ${uptime}`,
    requestsNow: 'Requests',
    inFlight: (count: number) => `${countText(count)} in progress`,
    latencyNow: 'Latency, p95',
    latencyIdle: 'no requests',
    median: (text: string) => `half within ${text}`,
    diskFree: 'Free disk space',
    diskOf: (size: string) => `of ${size}`,
    damage: 'Damage',
    noDamage: 'None known',
    someDamage: (count: number) => plural(count, 'finding', 'findings'),
    lastScrub: (time: string) => `last scrub ${time}`,
    scrubRunning: 'a scrub is running',
    neverScrubbed: 'no scrub since the start',
    time: 'Time',
    tableLabel: (title: string) => `${title}, average of each minute`,
  },
  attention: {
    title: 'Needs attention',
    diskFull: 'The disk is full: writes are refused until space is free. Reads and deletes go on.',
    diskLow: (free: string) => `Only ${free} are free on the disk. Writes are refused when less than 64 MiB are left.`,
    damaged: (count: number) =>
      `The last scrub found damage in ${plural(count, 'place', 'places')}. Look at the objects that it affects.`,
    checked: (count: number) => `The last full check found ${plural(count, 'problem', 'problems')}.`,
    lostRecords: (count: number) =>
      `${plural(count, 'metadata record is', 'metadata records are')} lost or damaged. Requests for them fail until ` +
      'the metadata are rebuilt.',
    unsafeDisk: (kind: string) =>
      `The data are on a filesystem (${kind}) that may lose what was synced to it. Use a local disk for real data.`,
    certificate: (days: number) =>
      `The TLS certificate ${days < 0 ? 'has expired' : `expires in ${plural(days, 'day', 'days')}`}. Replace its ` +
      'file, then send SIGHUP to the server.',
    maintenance: (tasks: string) =>
      `Maintenance has failed since the console was opened: ${tasks}. See the server's log.`,
    show: 'Show',
  },
  plots: {
    requests: {
      title: 'Requests per second',
      series: { read: 'Reads', write: 'Writes', list: 'Lists', delete: 'Deletes', other: 'Other' },
      summary: (count: number, minutes: number, now: string, most: string) =>
        `${plural(count, 'request', 'requests')} in ${minutesText(minutes)}: ${now} now, ${most} at most.`,
    },
    latency: {
      title: 'Latency',
      series: { p50: 'p50', p95: 'p95', p99: 'p99' },
      summary: (p50: string, p95: string, p99: string) =>
        `Until the client had the last byte: half of the requests within ${p50}, 95% within ${p95}, 99% within ${p99}.`,
      idle: 'No requests in the last minutes.',
    },
    errors: {
      title: 'Errors per second',
      series: { refused: 'Refused (401, 403)', client: 'Other 4xx', server: 'Server errors (5xx)' },
      summary: (count: number, minutes: number, server: number) =>
        count === 0
          ? `No errors in ${minutesText(minutes)}.`
          : `${plural(count, 'error', 'errors')} in ${minutesText(minutes)}, ${countText(server)} of them 5xx.`,
    },
    bytes: {
      title: 'Bytes per second',
      series: { received: 'Received', sent: 'Sent' },
      summary: (received: string, sent: string, minutes: number) =>
        `${received} received and ${sent} sent in ${minutesText(minutes)}.`,
    },
    processor: {
      title: 'Processor',
      series: { server: 'Server', worker: 'Workers', supervisor: 'Supervisor' },
      summary: (now: string, most: string) => `${now} in use now, ${most} at most.`,
    },
    memory: {
      title: 'Memory',
      series: { server: 'Server', worker: 'Workers', supervisor: 'Supervisor' },
      summary: (now: string, most: string) => `${now} in use now, ${most} at most.`,
    },
    disk: {
      title: 'Disk',
      series: {
        'data.used': 'Used',
        'data.free': 'Free',
        'blobs.used': 'Used (blobs)',
        'blobs.free': 'Free (blobs)',
      },
      summary: (free: string, size: string, share: string) => `${free} free of ${size}; ${share} used.`,
      blobs: (free: string, size: string, share: string) =>
        `The blobs are on another disk: ${free} free of ${size}; ${share} used.`,
    },
    upkeep: {
      title: 'Maintenance',
      series: { space: 'Freeing space', lifecycle: 'Lifecycle rules', copy: 'Copy of metadata', other: 'Other' },
      summary: (now: string, most: string) => `Busy ${now} of the time now, ${most} at most.`,
    },
  },
  maintenance: {
    title: 'Maintenance tasks',
    task: 'Task',
    steps: 'Steps',
    failures: 'Failures',
    took: 'Time spent',
    last: 'Last completed',
    never: 'Not yet',
    names: {
      disk: 'Watch free space',
      clock: 'Keep the lock clock',
      reclaim: 'Free deleted data',
      compact: 'Compact half-empty volumes',
      forget: 'Forget completed uploads',
      lifecycle: 'Apply lifecycle rules',
      'index-buckets': 'Index buckets by owner',
      usage: 'Count usage',
      sweep: 'Remove leftovers of crashes',
      copy: 'Keep the second copy of metadata',
      move: 'Move blobs to another place',
    } as Readonly<Record<string, string>>,
  },
  processes: {
    workers: 'Processes that serve requests',
    workersText:
      'A worker that exits is replaced at once, and clients that retry notice nothing. More workers: --workers.',
    pid: 'Process',
    state: 'State',
    serving: 'Serving',
    starting: 'Starting',
    up: 'Up',
    memory: 'Memory',
    processor: 'Processor time',
    inFlight: 'In progress',
    restarts: (count: number) =>
      count === 0
        ? 'No worker has exited unexpectedly since the start.'
        : `${plural(count, 'worker has', 'workers have')} exited unexpectedly and been replaced since the start. ` +
          "The server's log says why.",
    members: 'Members of the cluster',
    alone: 'This server works alone.',
    aloneText:
      'Several servers can share one store when its metadata are in PostgreSQL and its blobs where all of them reach ' +
      'them. Start each with --cluster; they appear here.',
    address: 'Address',
    version: 'Version',
    joined: 'Joined',
    id: 'Id',
    leads: 'Leads',
    alive: 'Alive',
    watching: 'Watching',
    silent: (seconds: number) => `Silent for ${plural(seconds, 'second', 'seconds')}`,
    leadsText: 'The member that leads runs maintenance. One that is silent for 12 seconds is expelled by the others.',
    actions: 'Actions',
    expel: 'Expel',
    expelTitle: (address: string) => `Expel ${address}?`,
    expelText:
      'Nothing that it sends takes effect any more: requests that it is working on fail, and clients have to send ' +
      'them again to another member. If it is alive, it notices, and joins again.',
    expelled: (address: string) => `${address} was expelled.`,
  },
  integrity: {
    scrub: 'Scrub',
    scrubText:
      'A scrub reads everything that is stored and compares it with its checksums, while the server goes on serving.',
    start: 'Start a scrub',
    startTitle: 'Start a scrub?',
    startText:
      'It reads every record and every byte once. That changes nothing, but takes time and keeps the disk busy. You ' +
      'can leave this page; the result stays until the server restarts.',
    started: 'The scrub has started.',
    state: {
      never: 'No scrub has run since the server started.',
      running: 'A scrub is running.',
      done: 'The last scrub read everything.',
      failed: 'The last scrub broke off.',
    },
    progress: (records: number, bytes: number) =>
      `${plural(records, 'record', 'records')} and ${bytesText(bytes)} read`,
    took: (from: string, seconds: string) => `Started ${from}, took ${seconds}.`,
    since: (from: string) => `Started ${from}.`,
    found: (count: number) =>
      count === 0 ? 'No damage found.' : `${plural(count, 'damaged place', 'damaged places')} found.`,
    working: 'Scrub in progress',
    damage: 'Damage',
    noDamage: 'Neither a scrub nor the comparison with the second copy has found damage.',
    noDamageText:
      'A scrub looks for damaged bytes; metadata are compared with their second copy every hour. ' +
      'The full check below lists what it finds itself.',
    blob: (id: string) => `Blob ${id}`,
    record: (id: string) => `Record ${id}`,
    currentVersion: 'the current version',
    unknownVersion: 'one of its versions',
    affects: (count: number) => `Affects ${plural(count, 'version', 'versions')}`,
    affectsNothing: 'No version of an object uses it.',
    version: (id: string) => `version ${id}`,
    nullVersion: 'written without versioning',
    part: (number: number, upload: string) => `Part ${number} of the upload ${upload}`,
    more: (count: number) => `${plural(count, 'more finding is', 'more findings are')} not listed.`,
    whatToDo: 'What to do',
    steps: [
      'Damaged bytes are never served: requests for these versions fail, and everything else is served as before.',
      'If you have a backup, or the object is stored elsewhere, upload it again. It replaces the damaged one, or ' +
        'becomes a new version if the bucket keeps versions.',
      'If there is an older version of the object that is whole, make it current on the page of the object.',
      'A disk that damaged one place will damage more: check it, and take a backup of what is whole.',
    ],
    lost: 'Lost metadata records',
    lostText: (count: number) =>
      `${plural(count, 'record is', 'records are')} missing or damaged, although no request changed anything there. ` +
      'Requests that need them get MetadataDamaged, and no space is freed until the metadata are rebuilt from their ' +
      'second copy. Stop the server, run this, and start it again:',
    lostKind: (kind: string) => `every record of the kind ${kind} that is not found`,
    rebuildCommand: 'Command to rebuild the metadata',
    move: 'Moving blobs',
    moving: (blobs: number, bytes: string) => `${plural(blobs, 'blob', 'blobs')} of ${bytes} moved so far.`,
    moved: (blobs: number, bytes: string) => `All blobs were moved: ${plural(blobs, 'blob', 'blobs')} of ${bytes}.`,
    moveDone: 'Restart the server without --blobs-from.',
    places: (from: string, to: string) => `From ${from} to ${to}.`,
    moveDamaged: (count: number) => `${plural(count, 'blob', 'blobs')} could not be read and stayed. Run a scrub.`,
  },
  encryption: {
    keyring: 'Keyring',
    keyringText:
      'All keys are derived from the keyring of the server. Back it up apart from the data, and again after every ' +
      'change here: without it nothing that is encrypted can be read.',
    keyringId: (id: string) => `Id ${id}`,
    masters: 'Master keys',
    key: 'Key',
    use: 'Used for',
    version: 'Version',
    what: { service: 'Service key', storage: 'Storage key', named: 'Master of named keys' },
    uses: {
      service: 'Objects with server-side encryption AES256',
      storage: 'Everything on disk, around other encryption',
      named: 'Named keys are derived from it (aws:kms, verenc)',
    },
    rotate: 'Rotate',
    rotateKey: (name: string) => `Rotate ${name}`,
    rotateTitle: (name: string) => `Rotate the ${name}?`,
    rotateNamedTitle: (name: string) => `Rotate the key ${name}?`,
    rotateText: [
      'From now on, new data are encrypted with a new version of this key. It is in effect in every worker at once.',
      'Nothing that is stored is touched, and everything stays readable: the keyring keeps the older versions.',
      'This cannot be undone. Afterwards, back the keyring up again.',
    ],
    rotateRewrap: 'To bring existing objects under the new key, too, rewrap them below.',
    rotateStorage: 'The storage key is part of stored bytes: existing data stay under the old one.',
    rotated: (name: string, version: number) => `${name}: version ${version} is in use now.`,
    named: 'Named keys',
    namedText:
      'Requests choose a named key by its name. Without --verenc-strict-keys, a key also comes into being when it is ' +
      'first used, and is listed here only after it was rotated or disabled.',
    noNamed: 'No named key was created, rotated or disabled yet.',
    name: 'Name',
    state: 'State',
    actions: 'Actions',
    enabled: 'Enabled',
    disabled: 'Disabled',
    checking: (count: number) => `Closing: ${plural(count, 'version', 'versions')} checked`,
    create: 'Create a key',
    createTitle: 'Create a named key',
    nameHint: 'As requests will name it. It cannot be renamed or deleted later.',
    createSubmit: 'Create',
    created: (name: string) => `Key ${name} was created.`,
    disable: 'Disable',
    disableKey: (name: string) => `Disable ${name}`,
    disableTitle: (name: string) => `Disable the key ${name}?`,
    disableText: [
      'Every object under this key becomes unreadable until the key is enabled again. Nothing is deleted.',
      'It is refused while a version under a hold or retention needs the key. To know, the server first looks at ' +
        'every version; that may take a while, and you can leave this page.',
    ],
    disabledNow: (name: string) => `Key ${name} is disabled.`,
    disabling: (count: number) => `${plural(count, 'version', 'versions')} looked at so far.`,
    enable: 'Enable',
    enableKey: (name: string) => `Enable ${name}`,
    enabledNow: (name: string) => `Key ${name} is enabled.`,
    rewrap: 'Rewrap after a rotation',
    rewrapText:
      'Wraps the keys of stored objects with the newest service and named keys. No byte of an object is read, and ' +
      'nothing about the objects changes. It runs from this tab: you can go to other pages, but closing the tab ends ' +
      'it. It may be run again at any time; what is done is skipped.',
    rewrapStart: 'Start rewrapping',
    rewrapStop: 'Stop',
    rewrapRunning: (looked: number, rewrapped: number) =>
      `${plural(looked, 'record', 'records')} looked at, ${countText(rewrapped)} rewrapped so far.`,
    rewrapDone: (looked: number, rewrapped: number) =>
      `Done: ${plural(looked, 'record', 'records')} looked at, ${countText(rewrapped)} rewrapped.`,
    rewrapLeft: (count: number) =>
      `${plural(count, 'record is', 'records are')} under keys that are disabled or unknown, and left as they are.`,
    rewrapStopped: 'Stopped. What was rewrapped stays so.',
    rewrapWorking: 'Rewrapping in progress',
  },
  usage: {
    total: 'All buckets',
    objects: 'Objects',
    bytes: 'Size',
    versions: 'Versions',
    versionBytes: 'Size with versions',
    markers: 'Delete markers',
    uploads: 'Open uploads',
    uploadBytes: 'Size of open uploads',
    buckets: 'Buckets',
    accounts: 'By account',
    account: 'Account',
    uncounted: (count: number) =>
      `${plural(count, 'bucket is', 'buckets are')} still being counted, and missing from these figures.`,
    note:
      'Sizes are logical: copies and shared bytes count as often as they are named. Usage belongs to the owner of ' +
      'the bucket.',
    emptyTitle: 'No buckets yet',
    empty: 'Usage by account appears here once somebody has created a bucket.',
  },
  configuration: {
    about: 'About this server',
    version: 'Version',
    runtime: 'Runtime',
    started: 'Started',
    up: 'Up',
    region: 'Region',
    objectApi: 'Object API',
    console: 'Console and admin API',
    certificate: 'Certificate expires',
    counts: 'Contents',
    countsText: (accounts: number, buckets: number) =>
      `${plural(accounts, 'account', 'accounts')}, ${plural(buckets, 'bucket', 'buckets')}`,
    clock: 'Clock',
    clockNow: 'Clock of the server',
    lockTime: 'Lock time',
    clockRight: 'Locks end by the clock of the server.',
    clockJumped:
      'The clock has jumped ahead. Until an administrator confirms it, locks are judged by the lock time, so that a ' +
      'wrong clock cannot end them.',
    confirm: 'Confirm the clock',
    confirmTitle: 'Is the clock right?',
    confirmText: (time: string) =>
      `The server believes that it is ${time}. After you confirm, locks that end before that time no longer protect ` +
      'their versions. That cannot be undone. Compare with another clock first.',
    confirmed: 'The clock is confirmed.',
    settings: 'Settings in force',
    settingsText:
      'Named like the flags of "holdfast serve". They are read when the server starts; secrets are not shown.',
    search: 'Search settings',
    name: 'Setting',
    value: 'Value',
    yes: 'yes',
    no: 'no',
    none: 'none',
    secret: 'set, not shown',
    noMatch: (text: string) => `No setting matches "${text}".`,
  },
} as const
