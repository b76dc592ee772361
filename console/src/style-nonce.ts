/** The policy of the page allows style elements by this nonce alone. */
export const styleNonce = document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? ''
