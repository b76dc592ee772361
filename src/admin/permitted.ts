/** Callers of the console who are not administrators see exactly what the object API would let the same key read. */
import type { ExplainQuestion } from '../edge/explain.ts'
import { Fault } from '../model/faults.ts'
import { type ExplainedPolicy, type Explanation, explanationJson, explanationText } from '../rules/explanation.ts'
import type { AdminContext } from './route.ts'

type Question = Omit<ExplainQuestion, 'as'>

/** An administrator may see everything. Conditions that only a request can meet count as not met. */
export async function isPermitted(ctx: AdminContext, question: Question): Promise<boolean> {
  if (ctx.isAdministrator) return true
  const { access, dependsOn } = await ctx.explain({ ...question, accessKey: ctx.caller.accessKey })
  return access.allowed && dependsOn.length === 0
}

export async function requirePermission(ctx: AdminContext, question: Question): Promise<void> {
  if (await isPermitted(ctx, question)) return
  throw new Fault('AccessDenied', { reason: `You do not have the permission ${question.action} here.` })
}

async function isOwnBucket({ store, caller }: AdminContext, bucket: string | undefined): Promise<boolean> {
  if (bucket === undefined) return true
  try {
    return (await store.buckets.get(bucket)).owner === caller.account.canonicalId
  } catch (error) {
    // A bucket that is about to be created has no owner whose reasons could be told.
    if (error instanceof Fault && error.code === 'NoSuchBucket') return true
    throw error
  }
}

/**
 * Reasons of another account's bucket are for its owner; whether an object exists and how it is locked is for callers
 * whom the permission in question lets find out.
 */
async function visible(ctx: AdminContext, explanation: Explanation): Promise<Explanation> {
  if (ctx.isAdministrator) return explanation
  const { access, request } = explanation
  const reasons = (await isOwnBucket(ctx, request.bucket)) ? access.reasons : []
  const shown = { ...explanation, access: { ...access, reasons } }
  return access.allowed ? shown : { ...shown, isMissing: false, lock: undefined, notes: [] }
}

/** As far as the caller may know; about callers other than oneself only to administrators. */
async function explained(ctx: AdminContext, accessKey: string | undefined, question: Question): Promise<Explanation> {
  if (!ctx.isAdministrator && accessKey !== ctx.caller.accessKey) {
    throw new Fault('AccessDenied', { reason: 'Only an administrator may ask about other callers.' })
  }
  return visible(ctx, await ctx.explain({ ...question, accessKey }))
}

const shown = (explanation: Explanation): object => ({
  ...explanationJson(explanation),
  text: explanationText(explanation),
})

export const explainTo = async (ctx: AdminContext, accessKey: string | undefined, question: Question) =>
  shown(await explained(ctx, accessKey, question))

/** Also with the texts of the policies that decide. A user may read their own policies. */
export async function explainWithPolicies(ctx: AdminContext, accessKey: string | undefined, question: Question) {
  const explanation = await explained(ctx, accessKey, question)
  const { access, policies, request } = explanation
  const cited = policies.filter(({ policy, number }) =>
    access.reasons.some(one => one.kind === 'statement' && one.policy === policy && one.number === number),
  )
  const mayRead = async ({ policy }: ExplainedPolicy): Promise<boolean> =>
    policy === 'identity' || isPermitted(ctx, { action: 'GetBucketPolicy', bucket: request.bucket })
  const readable: ExplainedPolicy[] = []
  for (const one of cited) if (await mayRead(one)) readable.push(one)
  return { ...shown(explanation), policies: readable }
}
