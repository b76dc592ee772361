/** Generated from the admin API's description by scripts/console-client.mjs; `npm run console-client` renews it. */

export interface AdminApi {
  /** Attach a policy to a user, or replace the one of this name. */
  AttachPolicy: {
    input: {
      readonly accountId: string
      readonly user: string
      readonly policy: string
      readonly document?: string | Readonly<Record<string, unknown>>
      readonly buckets?: string
    }
    output: {
      readonly accountId: string
      readonly name: string
      readonly policies: readonly {
        readonly name: string
        readonly fromFile: boolean
        readonly document: Readonly<Record<string, unknown>>
      }[]
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Begin to sign in with OpenID Connect: returns the address to send the browser to. */
  BeginOidcSignIn: { input: Readonly<Record<string, never>>; output: { readonly url: string } }
  /** Change the name, e-mail address, administrator flag or state of an account. */
  ChangeAccount: {
    input: {
      readonly accountId: string
      readonly displayName?: string
      readonly email?: string
      readonly admin?: boolean
      readonly disabled?: boolean
    }
    output: {
      readonly accountId: string
      readonly canonicalId: string
      readonly displayName: string
      readonly email?: string
      readonly admin: boolean
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Enable or disable a named key; refused while it wraps a locked version. */
  ChangeEncryptionKey: {
    input: { readonly name: string; readonly disabled: boolean }
    output: { readonly name: string; readonly version: number; readonly disabled: boolean; readonly checking?: number }
  }
  /** Enable or disable a key. */
  ChangeKey: {
    input: { readonly accessKey: string; readonly disabled: boolean }
    output: {
      readonly accessKey: string
      readonly accountId: string
      readonly user?: string
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Enable or disable a user. */
  ChangeUser: {
    input: { readonly accountId: string; readonly user: string; readonly disabled: boolean }
    output: {
      readonly accountId: string
      readonly name: string
      readonly policies: readonly {
        readonly name: string
        readonly fromFile: boolean
        readonly document: Readonly<Record<string, unknown>>
      }[]
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** List all problems of a policy with their positions, and the statements that make it public. */
  CheckPolicy: {
    input: { readonly document: string | Readonly<Record<string, unknown>>; readonly bucket?: string }
    output: {
      readonly problems: readonly { readonly message: string; readonly path: readonly (string | number)[] }[]
      readonly publicStatements: readonly number[]
    }
  }
  /** Confirm that the clock is right, so that locks end by it. */
  ConfirmClock: {
    input: Readonly<Record<string, never>>
    output: { readonly clock: string; readonly lockTime: string; readonly jumped: boolean }
  }
  /** Create an account. */
  CreateAccount: {
    input: {
      readonly accountId?: string
      readonly canonicalId?: string
      readonly displayName?: string
      readonly email?: string
      readonly admin?: boolean
      readonly again?: boolean
    }
    output: {
      readonly accountId: string
      readonly canonicalId: string
      readonly displayName: string
      readonly email?: string
      readonly admin: boolean
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Create a bucket for an account. */
  CreateBucket: {
    input: {
      readonly name: string
      readonly accountId?: string
      readonly lock?: boolean
      readonly versioning?: boolean
    }
    output: Readonly<Record<string, unknown>>
  }
  /** Create a named key, which a server with strict key names then accepts. */
  CreateEncryptionKey: {
    input: { readonly name: string }
    output: { readonly name: string; readonly version: number; readonly disabled: boolean; readonly checking?: number }
  }
  /** Create a key of an account or a user; only this response has its secret. */
  CreateKey: {
    input: {
      readonly accountId: string
      readonly user?: string
      readonly accessKey?: string
      readonly secretKey?: string
    }
    output: {
      readonly accessKey: string
      readonly accountId: string
      readonly user?: string
      readonly disabled: boolean
      readonly createdAt?: string
      readonly secretKey: string
    }
  }
  /** Create a user, who has no permissions until a policy is attached. */
  CreateUser: {
    input: { readonly accountId: string; readonly name: string; readonly again?: boolean }
    output: {
      readonly accountId: string
      readonly name: string
      readonly policies: readonly {
        readonly name: string
        readonly fromFile: boolean
        readonly document: Readonly<Record<string, unknown>>
      }[]
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Delete an account that has no users and no buckets, with its keys. */
  DeleteAccount: { input: { readonly accountId: string }; output: undefined }
  /** Delete an empty bucket. */
  DeleteBucket: { input: { readonly bucket: string }; output: undefined }
  /** Delete a key. */
  DeleteKey: { input: { readonly accessKey: string }; output: undefined }
  /** Delete the policy of a bucket. */
  DeletePolicy: { input: { readonly bucket: string }; output: undefined }
  /** Delete a user with its keys. */
  DeleteUser: { input: { readonly accountId: string; readonly user: string }; output: undefined }
  /** Detach a policy from a user. */
  DetachPolicy: {
    input: { readonly accountId: string; readonly user: string; readonly policy: string }
    output: {
      readonly accountId: string
      readonly name: string
      readonly policies: readonly {
        readonly name: string
        readonly fromFile: boolean
        readonly document: Readonly<Record<string, unknown>>
      }[]
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** End the backup and release its snapshot. */
  EndBackup: { input: { readonly backup: string }; output: undefined }
  /** Expel a server: none of its commits takes effect any more. */
  ExpelMember: { input: { readonly id: string }; output: undefined }
  /** Explain whether a request would be allowed, and why; without administrator rights only for oneself. */
  Explain: {
    input: {
      readonly as?: string
      readonly action: string
      readonly bucket?: string
      readonly key?: string
      readonly versionId?: string
      readonly bypass?: boolean
      readonly conditions?: Readonly<Record<string, string>>
    }
    output: {
      readonly asked: Readonly<Record<string, unknown>>
      readonly verdict: 'allowed' | 'refused' | 'depends'
      readonly because: 'access' | 'lock' | 'missing'
      readonly access: {
        readonly allowed: boolean
        readonly reasons: readonly {
          readonly kind:
            | 'statement'
            | 'grant'
            | 'account key'
            | 'ownership'
            | 'block'
            | 'nothing allows'
            | 'unreadable policy'
          readonly text: string
          readonly policy?: 'identity' | 'bucket'
          readonly number?: number
          readonly index?: number
          readonly sid?: string
          readonly effect?: 'Allow' | 'Deny'
          readonly on?: 'bucket' | 'object'
          readonly grant?: Readonly<Record<string, unknown>>
          readonly rule?: string
          readonly block?: string
          readonly side?: string
        }[]
      }
      readonly dependsOn: readonly string[]
      readonly isMissing: boolean
      readonly lock: {
        readonly versionId: string
        readonly hold: 'ON' | 'OFF' | null
        readonly heldSince: { readonly time: string; readonly by: string } | null
        readonly retention?: { readonly mode: 'governance' | 'compliance'; readonly until: string }
        readonly retainedSince: { readonly time: string; readonly by: string } | null
        readonly stops: string | null
        readonly mayBypass: boolean
      } | null
      readonly notes: readonly string[]
      readonly text: string
      readonly policies: readonly {
        readonly policy: 'identity' | 'bucket'
        readonly number: number
        readonly document: string
      }[]
    }
  }
  /** Export the ledger of a bucket: a header, the entries and a signed closing line, one line each. */
  ExportLedger: { input: { readonly bucket: string }; output: Readonly<Record<string, unknown>> }
  /** Find users of all accounts by a part of their name, or of the name or id of their account. */
  FindUsers: {
    input: { readonly contains?: string; readonly limit?: number }
    output: { readonly users: readonly { readonly accountId: string; readonly name: string }[] }
  }
  /** Begin a session with the parameters that the issuer returned to the browser. */
  FinishOidcSignIn: {
    input: { readonly code: string; readonly state: string }
    output: {
      readonly token: string
      readonly accessKey: string
      readonly account: { readonly accountId: string; readonly displayName: string }
      readonly user?: string
      readonly person?: { readonly issuer: string; readonly subject: string }
      readonly administrator: boolean
      readonly startedAt: string
      readonly idleEndsAt: string
      readonly endsAt: string
      readonly objectUrl: string
      readonly websiteHosts: readonly string[]
      readonly region: string
      readonly version: string
    }
  }
  /** Get an account. */
  GetAccount: {
    input: { readonly accountId: string }
    output: {
      readonly accountId: string
      readonly canonicalId: string
      readonly displayName: string
      readonly email?: string
      readonly admin: boolean
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Get the progress of the backup that a client is taking. */
  GetBackup: {
    input: Readonly<Record<string, never>>
    output: {
      readonly running: boolean
      readonly takenAt?: string
      readonly phase?: 'records' | 'blobs'
      readonly sentBytes?: number
      readonly idleSeconds?: number
    }
  }
  /** Get the progress of the move of all blobs to another place. */
  GetBlobsMove: {
    input: Readonly<Record<string, never>>
    output: {
      readonly state: 'never' | 'moving' | 'moved'
      readonly from?: string
      readonly to?: string
      readonly blobs?: number
      readonly bytes?: number
      readonly damaged?: number
    }
  }
  /** Get the settings and usage of a bucket. */
  GetBucket: { input: { readonly bucket: string }; output: Readonly<Record<string, unknown>> }
  /** Get the clock and the lock time, which differ after the clock has jumped. */
  GetClock: {
    input: Readonly<Record<string, never>>
    output: { readonly clock: string; readonly lockTime: string; readonly jumped: boolean }
  }
  /** Get the servers that share the database, and which of them leads. */
  GetCluster: {
    input: Readonly<Record<string, never>>
    output: {
      readonly epoch: number
      readonly leader?: string
      readonly term?: number
      readonly members: readonly {
        readonly id: string
        readonly address: string
        readonly version: string
        readonly joinedAt: string
        readonly renewals: number
        readonly leads: boolean
      }[]
    }
  }
  /** Get damage with the objects it affects: found by the last scrub, and records lost from the metadata. */
  GetDamage: {
    input: Readonly<Record<string, never>>
    output: {
      readonly scrub: {
        readonly state: 'never' | 'running' | 'done' | 'failed'
        readonly startedAt?: string
        readonly endedAt?: string
        readonly records: number
        readonly bytes: number
        readonly damaged: number
        readonly damage: readonly {
          readonly what: 'blob' | 'record'
          readonly id: string
          readonly message: string
          readonly objects: readonly { readonly bucket: string; readonly key: string; readonly versionId: string }[]
          readonly parts: readonly { readonly uploadId: string; readonly number: number }[]
        }[]
        readonly error?: string
      }
      readonly lostRecords: number
      readonly lost: readonly {
        readonly kind: string
        readonly bucket?: string
        readonly key?: string
        readonly record?: string
      }[]
      readonly incompleteKinds: readonly string[]
    }
  }
  /** Get this description. */
  GetDescription: { input: Readonly<Record<string, never>>; output: Readonly<Record<string, unknown>> }
  /** Get the id and versions of the keyring, and the named keys that were created or changed. */
  GetEncryption: {
    input: Readonly<Record<string, never>>
    output: {
      readonly keyring: string
      readonly service: number
      readonly storage: number
      readonly named: number
      readonly keys: readonly {
        readonly name: string
        readonly version: number
        readonly disabled: boolean
        readonly checking?: number
      }[]
    }
  }
  /** Get the progress and findings of the last full check. */
  GetFsck: {
    input: Readonly<Record<string, never>>
    output: {
      readonly state: 'never' | 'running' | 'done' | 'stopped' | 'failed'
      readonly phase?: 'records' | 'bytes'
      readonly deep?: boolean
      readonly startedAt?: string
      readonly endedAt?: string
      readonly records: number
      readonly bytes: number
      readonly versions?: number
      readonly blobs?: number
      readonly totalBytes?: number
      readonly held: number
      readonly problemCount: number
      readonly problems: readonly string[]
      readonly damageCount: number
      readonly damage: readonly {
        readonly what: 'blob' | 'record'
        readonly id: string
        readonly message: string
        readonly objects: readonly { readonly bucket: string; readonly key: string; readonly versionId: string }[]
        readonly parts: readonly { readonly uploadId: string; readonly number: number }[]
      }[]
      readonly error?: string
    }
  }
  /** Get the owner and state of a key. */
  GetKey: {
    input: { readonly accessKey: string }
    output: {
      readonly accessKey: string
      readonly accountId: string
      readonly user?: string
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Get the metrics as JSON; with a prefix, only families whose names begin with it. */
  GetMetricSamples: {
    input: { readonly prefix?: string }
    output: {
      readonly time: string
      readonly samples: readonly {
        readonly name: string
        readonly labels: Readonly<Record<string, string>>
        readonly value: number
      }[]
    }
  }
  /** Get the metrics in the Prometheus text format; the scrape token is accepted too. */
  GetMetrics: { input: Readonly<Record<string, never>>; output: Readonly<Record<string, unknown>> }
  /** Get the policies of the user who is signed in; none for a key of an account. */
  GetOwnPolicies: {
    input: Readonly<Record<string, never>>
    output: { readonly policies: readonly { readonly name: string; readonly document: string }[] }
  }
  /** Evaluate for each request whether the caller may send it, and why. */
  GetPermissions: {
    input: {
      readonly questions: readonly {
        readonly action: string
        readonly bucket?: string
        readonly key?: string
        readonly versionId?: string
        readonly bypass?: boolean
      }[]
    }
    output: {
      readonly answers: readonly {
        readonly asked: Readonly<Record<string, unknown>>
        readonly verdict: 'allowed' | 'refused' | 'depends'
        readonly because: 'access' | 'lock' | 'missing'
        readonly access: {
          readonly allowed: boolean
          readonly reasons: readonly {
            readonly kind:
              | 'statement'
              | 'grant'
              | 'account key'
              | 'ownership'
              | 'block'
              | 'nothing allows'
              | 'unreadable policy'
            readonly text: string
            readonly policy?: 'identity' | 'bucket'
            readonly number?: number
            readonly index?: number
            readonly sid?: string
            readonly effect?: 'Allow' | 'Deny'
            readonly on?: 'bucket' | 'object'
            readonly grant?: Readonly<Record<string, unknown>>
            readonly rule?: string
            readonly block?: string
            readonly side?: string
          }[]
        }
        readonly dependsOn: readonly string[]
        readonly isMissing: boolean
        readonly lock: {
          readonly versionId: string
          readonly hold: 'ON' | 'OFF' | null
          readonly heldSince: { readonly time: string; readonly by: string } | null
          readonly retention?: { readonly mode: 'governance' | 'compliance'; readonly until: string }
          readonly retainedSince: { readonly time: string; readonly by: string } | null
          readonly stops: string | null
          readonly mayBypass: boolean
        } | null
        readonly notes: readonly string[]
        readonly text: string
      }[]
    }
  }
  /** Get the policy of a bucket as it was set, and whether it is public. */
  GetPolicy: { input: { readonly bucket: string }; output: Readonly<Record<string, unknown>> }
  /** Get the actions, condition keys and canned policies that policies can name, for editors. */
  GetPolicyVocabulary: {
    input: Readonly<Record<string, never>>
    output: {
      readonly actions: readonly { readonly action: string; readonly on: 'service' | 'bucket' | 'object' }[]
      readonly conditionKeys: readonly string[]
      readonly conditionTags: readonly string[]
      readonly operators: readonly string[]
      readonly canned: readonly string[]
    }
  }
  /** Get the progress and findings of the last scrub round. */
  GetScrub: {
    input: Readonly<Record<string, never>>
    output: {
      readonly state: 'never' | 'running' | 'done' | 'failed'
      readonly startedAt?: string
      readonly endedAt?: string
      readonly records: number
      readonly bytes: number
      readonly damaged: number
      readonly damage: readonly {
        readonly what: 'blob' | 'record'
        readonly id: string
        readonly message: string
        readonly objects: readonly { readonly bucket: string; readonly key: string; readonly versionId: string }[]
        readonly parts: readonly { readonly uploadId: string; readonly number: number }[]
      }[]
      readonly error?: string
    }
  }
  /** Get facts about the server. */
  GetServer: {
    input: Readonly<Record<string, never>>
    output: {
      readonly version: string
      readonly runtime: string
      readonly startedAt?: string
      readonly uptimeSeconds?: number
      readonly ready?: boolean
      readonly certificateExpiresAt?: string
      readonly filesystems: readonly {
        readonly folder: string
        readonly totalBytes: number
        readonly freeBytes: number
        readonly files: number
        readonly freeFiles: number
      }[]
      readonly region: string
      readonly now: string
      readonly accounts: number
      readonly buckets: number
    }
  }
  /** Get the last backup that the server took itself, and the backups in its folder. */
  GetServerBackup: {
    input: Readonly<Record<string, never>>
    output: {
      readonly state: 'never' | 'running' | 'done' | 'stopped' | 'failed'
      readonly name?: string
      readonly startedAt?: string
      readonly endedAt?: string
      readonly takenAt?: string
      readonly phase?: 'records' | 'blobs'
      readonly writtenBytes: number
      readonly run?: string
      readonly blobs?: {
        readonly count: number
        readonly bytes: number
        readonly copied: number
        readonly copiedBytes: number
      }
      readonly damaged?: number
      readonly error?: string
      readonly folder?: string
      readonly backups: readonly { readonly name: string; readonly runs: number; readonly newestAt: string }[]
    }
  }
  /** Get the identity and the end of the session. */
  GetSession: {
    input: Readonly<Record<string, never>>
    output: {
      readonly accessKey: string
      readonly account: { readonly accountId: string; readonly displayName: string }
      readonly user?: string
      readonly person?: { readonly issuer: string; readonly subject: string }
      readonly administrator: boolean
      readonly startedAt: string
      readonly idleEndsAt: string
      readonly endsAt: string
      readonly objectUrl: string
      readonly websiteHosts: readonly string[]
      readonly region: string
      readonly version: string
    }
  }
  /** Get the settings that the server runs with, without secrets. */
  GetSettings: {
    input: Readonly<Record<string, never>>
    output: { readonly settings: Readonly<Record<string, string | number | boolean | readonly string[]>> }
  }
  /** Get the ways to sign in other than with an access key. */
  GetSignInOptions: { input: Readonly<Record<string, never>>; output: { readonly oidc?: { readonly name: string } } }
  /** Get objects, versions and bytes of all buckets, and of each account that owns some. */
  GetUsage: {
    input: { readonly accountId?: string }
    output: {
      readonly buckets: number
      readonly uncountedBuckets: number
      readonly objects: number
      readonly versions: number
      readonly deleteMarkers: number
      readonly bytes: number
      readonly versionBytes: number
      readonly uploads: number
      readonly uploadBytes: number
      readonly accounts: readonly {
        readonly accountId: string
        readonly buckets: number
        readonly uncountedBuckets: number
        readonly objects: number
        readonly versions: number
        readonly deleteMarkers: number
        readonly bytes: number
        readonly versionBytes: number
        readonly uploads: number
        readonly uploadBytes: number
      }[]
    }
  }
  /** Get a user with its policies. */
  GetUser: {
    input: { readonly accountId: string; readonly user: string }
    output: {
      readonly accountId: string
      readonly name: string
      readonly policies: readonly {
        readonly name: string
        readonly fromFile: boolean
        readonly document: Readonly<Record<string, unknown>>
      }[]
      readonly disabled: boolean
      readonly createdAt?: string
    }
  }
  /** Renew the lease of the backup. */
  KeepBackup: { input: { readonly backup: string }; output: undefined }
  /** List all accounts. */
  ListAccounts: {
    input: Readonly<Record<string, never>>
    output: {
      readonly accounts: readonly {
        readonly accountId: string
        readonly canonicalId: string
        readonly displayName: string
        readonly email?: string
        readonly admin: boolean
        readonly disabled: boolean
        readonly createdAt?: string
      }[]
    }
  }
  /** List buckets with settings and usage, by name: of all accounts for administrators, else of the own one. */
  ListBuckets: {
    input: {
      readonly accountId?: string
      readonly after?: string
      readonly limit?: number
      readonly name?: string
      readonly contains?: string
    }
    output: {
      readonly buckets: readonly {
        readonly name: string
        readonly owner: string
        readonly createdAt: string
        readonly versioning?: 'off' | 'on' | 'suspended'
        readonly lockEnabled?: boolean
        readonly defaultRetention?: Readonly<Record<string, unknown>>
        readonly encryption?: { readonly algorithm: string; readonly key?: string } | null
        readonly public?: { readonly policy: boolean; readonly acl: boolean }
        readonly documents: readonly string[]
        readonly usage?: {
          readonly objects: number
          readonly versions: number
          readonly deleteMarkers: number
          readonly bytes: number
          readonly versionBytes: number
          readonly uploads: number
          readonly uploadBytes: number
        } | null
      }[]
      readonly next?: string
    }
  }
  /** List versions with a legal hold or a retention: current ones first. A page may be empty and have a next one. */
  ListHeldVersions: {
    input: { readonly bucket: string; readonly prefix?: string; readonly after?: string; readonly limit?: number }
    output: {
      readonly versions: readonly {
        readonly key: string
        readonly versionId: string
        readonly size: number
        readonly lastModified: string
        readonly latest: boolean
        readonly hold: boolean
        readonly heldSince?: {
          readonly time: string
          readonly by: { readonly account: string; readonly user?: string; readonly accessKey?: string }
          readonly sequence: number
        }
        readonly retention?: {
          readonly mode: 'governance' | 'compliance'
          readonly until: string
          readonly inForce: boolean
        }
        readonly retainedSince?: {
          readonly time: string
          readonly by: { readonly account: string; readonly user?: string; readonly accessKey?: string }
          readonly sequence: number
        }
      }[]
      readonly next?: string
    }
  }
  /** List the keys of an account and its users, or of one user, without secrets. */
  ListKeys: {
    input: { readonly accountId: string; readonly user?: string }
    output: {
      readonly keys: readonly {
        readonly accessKey: string
        readonly accountId: string
        readonly user?: string
        readonly disabled: boolean
        readonly createdAt?: string
      }[]
    }
  }
  /** List lines of the ledger with its header and its signed head, to verify them elsewhere. */
  ListLedgerEntries: {
    input: { readonly bucket: string; readonly after?: number; readonly limit?: number }
    output: {
      readonly header: string
      readonly lines: readonly string[]
      readonly closing: string
      readonly entries: number
    }
  }
  /** List the ledgers, which outlive their buckets, and the key that signs them. */
  ListLedgers: {
    input: Readonly<Record<string, never>>
    output: { readonly publicKey: string; readonly buckets: readonly string[] }
  }
  /** List the processes that serve requests. */
  ListProcesses: {
    input: Readonly<Record<string, never>>
    output: {
      readonly processes: readonly {
        readonly pid: number
        readonly startedAt: string
        readonly listening: boolean
        readonly residentBytes?: number
        readonly cpuSeconds?: number
        readonly requestsInFlight?: number
      }[]
    }
  }
  /** List the users of an account. */
  ListUsers: {
    input: { readonly accountId: string }
    output: {
      readonly users: readonly {
        readonly accountId: string
        readonly name: string
        readonly policies: readonly {
          readonly name: string
          readonly fromFile: boolean
          readonly document: Readonly<Record<string, unknown>>
        }[]
        readonly disabled: boolean
        readonly createdAt?: string
      }[]
    }
  }
  /** Presign requests to the object API in the name of the caller, who is authorized when they are sent. */
  PresignRequests: {
    input: {
      readonly requests: readonly {
        readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
        readonly bucket?: string
        readonly key?: string
        readonly query?: Readonly<Record<string, string>>
        readonly headers?: Readonly<Record<string, string>>
        readonly expiresInSeconds?: number
      }[]
    }
    output: {
      readonly requests: readonly {
        readonly method: string
        readonly url: string
        readonly headers: Readonly<Record<string, string>>
      }[]
    }
  }
  /** Preview what lifecycle rules would do to existing objects, now or in some days, without applying them. */
  PreviewLifecycle: {
    input: { readonly bucket: string; readonly document?: string; readonly days?: number }
    output: {
      readonly at: string
      readonly actions: readonly {
        readonly action:
          | 'delete object'
          | 'add delete marker'
          | 'remove version'
          | 'remove delete marker'
          | 'abort upload'
        readonly key: string
        readonly versionId?: string
        readonly uploadId?: string
        readonly size?: number
        readonly rule: string
        readonly due: string
        readonly locked: boolean
      }[]
      readonly totals: { readonly actions: number; readonly bytes: number; readonly locked: number }
      readonly complete: boolean
    }
  }
  /** Set the policy of a bucket. */
  PutPolicy: {
    input: { readonly bucket: string; readonly document: string | Readonly<Record<string, unknown>> }
    output: undefined
  }
  /** Read blobs as they are stored; encrypted ones stay encrypted. */
  ReadBackupBlobs: {
    input: { readonly backup: string; readonly ids: string }
    output: Readonly<Record<string, unknown>>
  }
  /** Read all records of the snapshot once, in the format of docs/formats/backup.md. */
  ReadBackupRecords: { input: { readonly backup: string }; output: Readonly<Record<string, unknown>> }
  /** After a rotation, rewrap stored keys with the newest ones: one step, and the cursor of the next. */
  RewrapEncryption: {
    input: { readonly from?: string }
    output: { readonly looked: number; readonly rewrapped: number; readonly left: number; readonly next?: string }
  }
  /** Encrypt new objects with a new key; older keys still decrypt what they encrypted. */
  RotateEncryption: {
    input: { readonly what: 'service' | 'storage' | 'named'; readonly name?: string }
    output: { readonly what: 'service' | 'storage' | 'named'; readonly name?: string; readonly version: number }
  }
  /** Enable object lock, permanently, and set the default retention; none without mode and days. */
  SetLock: {
    input: { readonly bucket: string; readonly mode?: 'governance' | 'compliance'; readonly days?: number }
    output: Readonly<Record<string, unknown>>
  }
  /** Enable or suspend versioning. */
  SetVersioning: {
    input: { readonly bucket: string; readonly versioning: 'on' | 'suspended' }
    output: Readonly<Record<string, unknown>>
  }
  /** Begin a session: sets its cookie and returns its token. */
  SignIn: {
    input: { readonly accessKey: string; readonly secretKey: string }
    output: {
      readonly token: string
      readonly accessKey: string
      readonly account: { readonly accountId: string; readonly displayName: string }
      readonly user?: string
      readonly person?: { readonly issuer: string; readonly subject: string }
      readonly administrator: boolean
      readonly startedAt: string
      readonly idleEndsAt: string
      readonly endsAt: string
      readonly objectUrl: string
      readonly websiteHosts: readonly string[]
      readonly region: string
      readonly version: string
    }
  }
  /** End the session. */
  SignOut: { input: Readonly<Record<string, never>>; output: undefined }
  /** Take a snapshot and retain every blob it names until EndBackup or five idle minutes; one backup at a time. */
  StartBackup: { input: Readonly<Record<string, never>>; output: Readonly<Record<string, unknown>> }
  /** Start a full check over a snapshot of the records, while requests are served; one at a time. */
  StartFsck: { input: { readonly deep?: boolean }; output: undefined }
  /** Start a scrub, which checks all stored data against its checksums; one round at a time. */
  StartScrub: { input: Readonly<Record<string, never>>; output: undefined }
  /** Take a backup into a folder on the server, incrementally if there is one of this name; one at a time. */
  StartServerBackup: { input: { readonly name: string }; output: undefined }
  /** Stop the full check; what it has found is kept. */
  StopFsck: {
    input: Readonly<Record<string, never>>
    output: {
      readonly state: 'never' | 'running' | 'done' | 'stopped' | 'failed'
      readonly phase?: 'records' | 'bytes'
      readonly deep?: boolean
      readonly startedAt?: string
      readonly endedAt?: string
      readonly records: number
      readonly bytes: number
      readonly versions?: number
      readonly blobs?: number
      readonly totalBytes?: number
      readonly held: number
      readonly problemCount: number
      readonly problems: readonly string[]
      readonly damageCount: number
      readonly damage: readonly {
        readonly what: 'blob' | 'record'
        readonly id: string
        readonly message: string
        readonly objects: readonly { readonly bucket: string; readonly key: string; readonly versionId: string }[]
        readonly parts: readonly { readonly uploadId: string; readonly number: number }[]
      }[]
      readonly error?: string
    }
  }
  /** Stop the backup that the server takes; the next one of the same name continues it. */
  StopServerBackup: {
    input: Readonly<Record<string, never>>
    output: {
      readonly state: 'never' | 'running' | 'done' | 'stopped' | 'failed'
      readonly name?: string
      readonly startedAt?: string
      readonly endedAt?: string
      readonly takenAt?: string
      readonly phase?: 'records' | 'blobs'
      readonly writtenBytes: number
      readonly run?: string
      readonly blobs?: {
        readonly count: number
        readonly bytes: number
        readonly copied: number
        readonly copiedBytes: number
      }
      readonly damaged?: number
      readonly error?: string
    }
  }
  /** Validate a policy as a bucket policy, or without a bucket as a user policy. */
  ValidatePolicy: {
    input: { readonly document: string | Readonly<Record<string, unknown>>; readonly bucket?: string }
    output: { readonly statements: number; readonly public: boolean }
  }
  /** Verify that the stored ledger of a bucket is complete and signed by this store. */
  VerifyLedger: { input: { readonly bucket: string }; output: Readonly<Record<string, unknown>> }
}

export const ADMIN_API = {
  AttachPolicy: { method: 'PUT', path: '/v1/accounts/{accountId}/users/{user}/policies/{policy}', query: [] },
  BeginOidcSignIn: { method: 'POST', path: '/v1/session/oidc', query: [] },
  ChangeAccount: { method: 'PATCH', path: '/v1/accounts/{accountId}', query: [] },
  ChangeEncryptionKey: { method: 'PATCH', path: '/v1/encryption/keys/{name}', query: [] },
  ChangeKey: { method: 'PATCH', path: '/v1/keys/{accessKey}', query: [] },
  ChangeUser: { method: 'PATCH', path: '/v1/accounts/{accountId}/users/{user}', query: [] },
  CheckPolicy: { method: 'POST', path: '/v1/policies/check', query: [] },
  ConfirmClock: { method: 'POST', path: '/v1/clock/confirm', query: [] },
  CreateAccount: { method: 'POST', path: '/v1/accounts', query: [] },
  CreateBucket: { method: 'POST', path: '/v1/buckets', query: [] },
  CreateEncryptionKey: { method: 'POST', path: '/v1/encryption/keys', query: [] },
  CreateKey: { method: 'POST', path: '/v1/accounts/{accountId}/keys', query: [] },
  CreateUser: { method: 'POST', path: '/v1/accounts/{accountId}/users', query: [] },
  DeleteAccount: { method: 'DELETE', path: '/v1/accounts/{accountId}', query: [] },
  DeleteBucket: { method: 'DELETE', path: '/v1/buckets/{bucket}', query: [] },
  DeleteKey: { method: 'DELETE', path: '/v1/keys/{accessKey}', query: [] },
  DeletePolicy: { method: 'DELETE', path: '/v1/buckets/{bucket}/policy', query: [] },
  DeleteUser: { method: 'DELETE', path: '/v1/accounts/{accountId}/users/{user}', query: [] },
  DetachPolicy: { method: 'DELETE', path: '/v1/accounts/{accountId}/users/{user}/policies/{policy}', query: [] },
  EndBackup: { method: 'DELETE', path: '/v1/backups/{backup}', query: [] },
  ExpelMember: { method: 'DELETE', path: '/v1/cluster/members/{id}', query: [] },
  Explain: { method: 'POST', path: '/v1/explain', query: [] },
  ExportLedger: { method: 'GET', path: '/v1/ledgers/{bucket}', query: [] },
  FindUsers: { method: 'GET', path: '/v1/users', query: ['contains', 'limit'] },
  FinishOidcSignIn: { method: 'POST', path: '/v1/session/oidc/finish', query: [] },
  GetAccount: { method: 'GET', path: '/v1/accounts/{accountId}', query: [] },
  GetBackup: { method: 'GET', path: '/v1/backups', query: [] },
  GetBlobsMove: { method: 'GET', path: '/v1/blobs/move', query: [] },
  GetBucket: { method: 'GET', path: '/v1/buckets/{bucket}', query: [] },
  GetClock: { method: 'GET', path: '/v1/clock', query: [] },
  GetCluster: { method: 'GET', path: '/v1/cluster', query: [] },
  GetDamage: { method: 'GET', path: '/v1/damage', query: [] },
  GetDescription: { method: 'GET', path: '/openapi.json', query: [] },
  GetEncryption: { method: 'GET', path: '/v1/encryption', query: [] },
  GetFsck: { method: 'GET', path: '/v1/fsck', query: [] },
  GetKey: { method: 'GET', path: '/v1/keys/{accessKey}', query: [] },
  GetMetricSamples: { method: 'GET', path: '/v1/metrics', query: ['prefix'] },
  GetMetrics: { method: 'GET', path: '/metrics', query: [] },
  GetOwnPolicies: { method: 'GET', path: '/v1/session/policies', query: [] },
  GetPermissions: { method: 'POST', path: '/v1/session/permissions', query: [] },
  GetPolicy: { method: 'GET', path: '/v1/buckets/{bucket}/policy', query: [] },
  GetPolicyVocabulary: { method: 'GET', path: '/v1/policies/vocabulary', query: [] },
  GetScrub: { method: 'GET', path: '/v1/scrub', query: [] },
  GetServer: { method: 'GET', path: '/v1/server', query: [] },
  GetServerBackup: { method: 'GET', path: '/v1/server-backup', query: [] },
  GetSession: { method: 'GET', path: '/v1/session', query: [] },
  GetSettings: { method: 'GET', path: '/v1/settings', query: [] },
  GetSignInOptions: { method: 'GET', path: '/v1/session/options', query: [] },
  GetUsage: { method: 'GET', path: '/v1/usage', query: ['accountId'] },
  GetUser: { method: 'GET', path: '/v1/accounts/{accountId}/users/{user}', query: [] },
  KeepBackup: { method: 'POST', path: '/v1/backups/{backup}', query: [] },
  ListAccounts: { method: 'GET', path: '/v1/accounts', query: [] },
  ListBuckets: { method: 'GET', path: '/v1/buckets', query: ['accountId', 'after', 'limit', 'name', 'contains'] },
  ListHeldVersions: { method: 'GET', path: '/v1/buckets/{bucket}/held', query: ['prefix', 'after', 'limit'] },
  ListKeys: { method: 'GET', path: '/v1/accounts/{accountId}/keys', query: ['user'] },
  ListLedgerEntries: { method: 'GET', path: '/v1/ledgers/{bucket}/entries', query: ['after', 'limit'] },
  ListLedgers: { method: 'GET', path: '/v1/ledgers', query: [] },
  ListProcesses: { method: 'GET', path: '/v1/processes', query: [] },
  ListUsers: { method: 'GET', path: '/v1/accounts/{accountId}/users', query: [] },
  PresignRequests: { method: 'POST', path: '/v1/session/presign', query: [] },
  PreviewLifecycle: { method: 'POST', path: '/v1/buckets/{bucket}/lifecycle/preview', query: [] },
  PutPolicy: { method: 'PUT', path: '/v1/buckets/{bucket}/policy', query: [] },
  ReadBackupBlobs: { method: 'POST', path: '/v1/backups/{backup}/blobs', query: [] },
  ReadBackupRecords: { method: 'GET', path: '/v1/backups/{backup}/records', query: [] },
  RewrapEncryption: { method: 'POST', path: '/v1/encryption/rewrap', query: [] },
  RotateEncryption: { method: 'POST', path: '/v1/encryption/rotate', query: [] },
  SetLock: { method: 'PUT', path: '/v1/buckets/{bucket}/lock', query: [] },
  SetVersioning: { method: 'PUT', path: '/v1/buckets/{bucket}/versioning', query: [] },
  SignIn: { method: 'POST', path: '/v1/session', query: [] },
  SignOut: { method: 'DELETE', path: '/v1/session', query: [] },
  StartBackup: { method: 'POST', path: '/v1/backups', query: [] },
  StartFsck: { method: 'POST', path: '/v1/fsck', query: [] },
  StartScrub: { method: 'POST', path: '/v1/scrub', query: [] },
  StartServerBackup: { method: 'POST', path: '/v1/server-backup', query: [] },
  StopFsck: { method: 'DELETE', path: '/v1/fsck', query: [] },
  StopServerBackup: { method: 'DELETE', path: '/v1/server-backup', query: [] },
  ValidatePolicy: { method: 'POST', path: '/v1/policies/validate', query: [] },
  VerifyLedger: { method: 'GET', path: '/v1/ledgers/{bucket}/verdict', query: [] },
} as const satisfies Record<keyof AdminApi, { method: string; path: string; query: readonly string[] }>
