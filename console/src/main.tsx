import '@mantine/core/styles.css'
import './main.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { queryClient } from './api/session.tsx'
import { App } from './app.tsx'
import { styleNonce } from './style-nonce.ts'
import { cssVariables, theme } from './theme.ts'

createRoot(document.getElementById('root')!).render(
  <MantineProvider
    theme={theme}
    cssVariablesResolver={cssVariables}
    defaultColorScheme="auto"
    getStyleNonce={() => styleNonce}
  >
    <QueryClientProvider client={queryClient}>
      <App />
    </QueryClientProvider>
  </MantineProvider>,
)
