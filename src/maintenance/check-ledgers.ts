/** P31. Every ledger is complete and ends at its signed head. */
import { DamagedRecord } from '../meta/meta.ts'
import { bucketFormat } from '../model/bucket.ts'
import { Ledger } from '../store/ledger/ledger.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Findings } from './findings.ts'
import { recordsOf } from './records.ts'

export async function checkLedgers(context: StoreContext, findings: Findings): Promise<void> {
  const ledger = new Ledger(context)
  for (const bucket of await bucketsWithLedgers(context, ledger, findings)) {
    await reportingDamage(findings, async () => {
      const { problem } = await ledger.verify(bucket)
      if (problem !== undefined) findings.problem(`ledger of ${bucket}, line ${problem.line}: ${problem.reason}`)
    })
  }
}

/** Buckets with a ledger head, with ledger entries, or with object lock: each may be all that is left of a ledger. */
async function bucketsWithLedgers(context: StoreContext, ledger: Ledger, findings: Findings): Promise<Set<string>> {
  const buckets = new Set<string>()
  const onDamage = (record: DamagedRecord): void => findings.problem(record.message)
  for await (const { key } of recordsOf(context, 'L', onDamage)) buckets.add(key.toString('utf8', 1, key.length - 1))
  for await (const { value } of recordsOf(context, 'B')) {
    const { name, lockEnabled } = bucketFormat.decode(value)
    if (lockEnabled) buckets.add(name)
  }
  await reportingDamage(findings, async () => {
    for await (const bucket of ledger.bucketsWithEntries()) buckets.add(bucket)
  })
  return buckets
}

async function reportingDamage(findings: Findings, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } catch (error) {
    if (!(error instanceof DamagedRecord)) throw error
    findings.problem(error.message)
  }
}
