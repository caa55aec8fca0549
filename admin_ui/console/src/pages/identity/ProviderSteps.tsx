import { Section } from '../../components/Facts.tsx'
import { useMessages } from '../../messages/index.tsx'
import styles from './identity.module.css'
import type { ProviderKind } from './providerValues.ts'

/** What is to be done at the provider. */
export function ProviderSteps({ kind }: { kind: ProviderKind }) {
  const { identity } = useMessages()
  return (
    <Section title={identity.stepsTitle}>
      <ol className={styles.steps}>
        {identity.steps[kind].map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </Section>
  )
}
