/** Callers of the console who are no administrators see exactly what the object API would let the same key read. */
import type { ExplainQuestion } from '../edge/explain.ts'
import { Fault } from '../model/faults.ts'
import { type Explanation, explanationJson, explanationText } from '../rules/explanation.ts'
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

/** Answers as far as the caller may know; about callers other than oneself only to administrators. */
export async function explainTo(
  ctx: AdminContext,
  accessKey: string | undefined,
  question: Question,
): Promise<object & { readonly text: string }> {
  if (!ctx.isAdministrator && accessKey !== ctx.caller.accessKey) {
    throw new Fault('AccessDenied', { reason: 'Only an administrator may ask about other callers.' })
  }
  const explanation = await visible(ctx, await ctx.explain({ ...question, accessKey }))
  return { ...explanationJson(explanation), text: explanationText(explanation) }
}
