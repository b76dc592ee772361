/** All routes of the admin API. The API description and the commands are generated from this list. */

import { openApi } from './openapi.ts'
import { type Route, RouteTable, route } from './route.ts'
import * as accounts from './routes/accounts.ts'
import * as backup from './routes/backup.ts'
import * as blobs from './routes/blobs.ts'
import * as buckets from './routes/buckets.ts'
import * as cluster from './routes/cluster.ts'
import * as encryption from './routes/encryption.ts'
import * as explain from './routes/explain.ts'
import * as fsck from './routes/fsck.ts'
import * as held from './routes/held.ts'
import * as keys from './routes/keys.ts'
import * as lifecycle from './routes/lifecycle.ts'
import * as locks from './routes/locks.ts'
import * as metrics from './routes/metrics.ts'
import * as oidc from './routes/oidc.ts'
import * as policies from './routes/policies.ts'
import * as server from './routes/server.ts'
import * as serverBackup from './routes/server-backup.ts'
import * as session from './routes/session.ts'
import * as usage from './routes/usage.ts'

const isRoute = (value: unknown): value is Route => typeof value === 'object' && value !== null && 'permission' in value

const GetDescription = route({
  name: 'GetDescription',
  method: 'GET',
  path: '/openapi.json',
  summary: 'Get this description',
  permission: 'anyone',
  input: {},
  run: async () => openApi(ADMIN_ROUTES.routes),
})

export const ADMIN_ROUTES = new RouteTable([
  ...[
    accounts,
    keys,
    buckets,
    policies,
    explain,
    locks,
    encryption,
    backup,
    serverBackup,
    fsck,
    blobs,
    metrics,
    server,
    cluster,
    usage,
    session,
    oidc,
    held,
    lifecycle,
  ].flatMap(module => Object.values(module).filter(isRoute)),
  GetDescription,
])
