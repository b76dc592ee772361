/** The driver of blobs in RADOS against a real Ceph with three OSDs, which lives as long as this file runs. */
import { after } from 'node:test'
import { blobSuite } from '../../src/blobs/suite.ts'
import { startCeph } from '../ceph/cluster.ts'
import { outageTests } from './outages.ts'
import { newNamespace, openPool } from './place.ts'
import { quotaTests } from './quota.ts'
import { serverTests } from './server-round.ts'

const POOL = 'blobs'

const ceph = await startCeph({ osds: 3 })
after(() => ceph.stop())
await ceph.createPool(POOL)

blobSuite({
  name: 'rados',
  async open(writer) {
    const place = { conf: ceph.conf, pool: POOL, namespace: newNamespace() }
    const reopen = (other: Buffer) => openPool(place, { writer: other })
    return { blobs: await reopen(writer), reopen, destroy: async () => {} }
  },
})
serverTests(ceph, POOL)
quotaTests(ceph)
outageTests(ceph, POOL)
