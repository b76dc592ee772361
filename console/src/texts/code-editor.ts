/** Texts of the editor for documents. */
export const codeEditorTexts = {
  problems: (label: string) => `Problems in: ${label}`,
  atLine: (line: number) => `Line ${line}`,
} as const
