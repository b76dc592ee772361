/** The S3 gateway of a Ceph with one OSD in memory. The gateway is killed and started again; its Ceph lives on. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { type Ceph, startCeph } from '../ceph/cluster.ts'
import { runTool } from '../ceph/daemon.ts'
import { OTHER_KEY, type OtherStore } from './other-store.ts'

const USER = ['--uid', 'holdfast', '--display-name', 'Holdfast']

export interface Gateway extends OtherStore {
  stop(): Promise<void>
}

export async function radosgwBelow(): Promise<Gateway> {
  const ceph: Ceph = await startCeph({ osds: 1, store: 'memstore' })
  const { accessKey, secretKey } = OTHER_KEY
  const keys = ['--access-key', accessKey, '--secret-key', secretKey]
  await runTool('radosgw-admin', ['--conf', ceph.conf, 'user', 'create', ...USER, ...keys])
  return {
    name: 'radosgw',
    async start(folder, port) {
      const frontend = ['--rgw-frontends', `beast endpoint=127.0.0.1:${port}`]
      const log = ['--log-file', join(folder, 'radosgw.log')]
      // It insists on a secure connection by itself, which needs the authentication that this Ceph does not have.
      const connection = ['--name', 'client.admin', '--ms-mon-client-mode', 'crc', '--auth-client-required', 'none']
      return spawn('radosgw', ['-f', '--conf', ceph.conf, ...connection, ...frontend, ...log])
    },
    stop: () => ceph.stop(),
  }
}
