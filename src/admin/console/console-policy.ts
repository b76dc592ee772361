/** The Content-Security-Policy of the console. */

/** Nothing from other hosts but the object API; `nonce` lets component libraries add their own styles. */
export function consolePolicy(objectUrl: string, nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "font-src 'self'",
    `img-src 'self' blob: data: ${objectUrl}`,
    `connect-src 'self' ${objectUrl}`,
    `media-src blob: ${objectUrl}`,
    `frame-src blob: ${objectUrl}`,
    "worker-src 'self' blob:",
    "manifest-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ')
}
