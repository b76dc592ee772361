import type { StoreContext } from '../store-context.ts'

/**
 * Runs what copies bytes and then names the copy. It is a reader, since the original may be freed meanwhile, and it has
 * a draft: a volume in which nothing is named yet is removed unless a draft may still be named there.
 */
export async function whileCopying<T>(
  { readers, drafts }: Pick<StoreContext, 'readers' | 'drafts'>,
  copy: () => Promise<T>,
): Promise<T> {
  const reader = readers.enter()
  const draft = drafts.enter()
  try {
    return await copy()
  } finally {
    readers.leave(reader)
    drafts.leave(draft)
  }
}
