/** Entity tags in headers and documents. Internally a tag has no quotes. */

/** One list member and the comma or end after it. Inside quotes a comma belongs to the tag. */
const MEMBER = /[ \t]*(?:(W\/)?"([^"]*)"|([^,]*))[ \t]*(?:,|$)/y

/**
 * Parses If-Match or If-None-Match; `*` stands for itself. Quotes are optional, since many clients omit them. Only a
 * proxy makes our tags weak; a weak tag may save a transfer but must not permit a change, so a `strong` comparison
 * keeps it as written, where it equals nothing.
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

/** Strips the optional quotes from a tag in a request document (R75). */
export function bareEtag(text: string): string {
  const trimmed = text.trim()
  return trimmed.length >= 2 && trimmed.startsWith('"') && trimmed.endsWith('"') ? trimmed.slice(1, -1) : trimmed
}

/** R16. */
export const quotedEtag = (etag: string): string => `"${etag}"`
