/** Colours with enough contrast for small text in both themes. */
import { type CSSVariablesResolver, createTheme, Tooltip } from '@mantine/core'

export const theme = createTheme({
  primaryColor: 'harbour',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'md',
  fontFamily: 'system-ui, sans-serif',
  fontFamilyMonospace: 'ui-monospace, monospace',
  headings: { fontWeight: '650' },
  colors: {
    harbour: [
      '#eef8fb',
      '#d9eef4',
      '#b0dce8',
      '#84c9dc',
      '#61b9d2',
      '#4bafcc',
      '#2a92b0',
      '#157a97',
      '#0e6780',
      '#0a5266',
    ],
  },
  components: {
    // In place, so that it belongs to the landmark of what it explains.
    Tooltip: Tooltip.extend({ defaultProps: { withArrow: true, multiline: true, maw: 320, withinPortal: false } }),
  },
})

export const cssVariables: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': colors.gray[7],
    '--mantine-color-placeholder': colors.gray[7],
    '--mantine-color-error': colors.red[9],
    '--hf-surface': colors.gray[0],
    '--hf-line': colors.gray[3],
    '--hf-hover': colors.gray[1],
    '--hf-added': '#e3f7e8',
    '--hf-removed': '#fdeaea',
    '--hf-plot-0': '#0e6780',
    '--hf-plot-1': '#c2410c',
    '--hf-plot-2': '#6d28d9',
    '--hf-plot-3': '#15803d',
    '--hf-plot-4': '#64748b',
    '--hf-marked': '#fff3bf',
    '--hf-code-name': '#0a5266',
    '--hf-code-text': '#1f6f2b',
    '--hf-code-value': '#8a3ffc',
  },
  dark: {
    '--mantine-color-dimmed': colors.dark[1],
    '--mantine-color-placeholder': colors.dark[2],
    '--mantine-color-error': colors.red[4],
    '--hf-surface': colors.dark[8],
    '--hf-line': colors.dark[4],
    '--hf-hover': colors.dark[6],
    '--hf-added': '#14361f',
    '--hf-removed': '#421b1b',
    '--hf-plot-0': '#61b9d2',
    '--hf-plot-1': '#fb923c',
    '--hf-plot-2': '#b79cfb',
    '--hf-plot-3': '#5fd08a',
    '--hf-plot-4': '#a3adba',
    '--hf-marked': '#4a3d0c',
    '--hf-code-name': '#84c9dc',
    '--hf-code-text': '#8fd99a',
    '--hf-code-value': '#d0b3ff',
  },
})
