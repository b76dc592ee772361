/** Entity tags as headers carry them. Inside, a tag is bare: no quotes. */

/** One member of a list and the comma or the end after it: quoted, so that commas are its own, or all up to a comma. */
const MEMBER = /[ \t]*(?:(W\/)?"([^"]*)"|([^,]*))[ \t]*(?:,|$)/y

/**
 * The tags of If-Match or If-None-Match; `*` stands for itself. Quotes are optional, since many clients leave them out.
 * A weak tag, which only a proxy can have made of ours, is good enough to spare a transfer but not to permit a change:
 * in a `strong` comparison it is kept as written and so equals nothing.
 */
export function parseEtags(header: string, comparison: 'strong' | 'weak'): string[] {
  const tags: string[] = []
  let at = 0
  while (at < header.length) {
    MEMBER.lastIndex = at
    const [, weak, quoted, bare] = MEMBER.exec(header)!
    at = MEMBER.lastIndex
    if (quoted === undefined) {
      const trimmed = bare!.trim()
      if (trimmed !== '') tags.push(trimmed)
    } else {
      tags.push(weak !== undefined && comparison === 'strong' ? `W/"${quoted}"` : quoted)
    }
  }
  return tags
}

/** A tag as a client sends it back in a document: with or without quotes (R75). */
export function bareEtag(text: string): string {
  const trimmed = text.trim()
  return trimmed.length >= 2 && trimmed.startsWith('"') && trimmed.endsWith('"') ? trimmed.slice(1, -1) : trimmed
}

/** R16. */
export const quotedEtag = (etag: string): string => `"${etag}"`
