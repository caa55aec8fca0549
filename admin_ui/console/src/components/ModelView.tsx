import { useQuery } from '@tanstack/react-query'
import type { SchemaModelViewResult } from '../api/schema.d.ts'
import { useFormat, useMessages } from '../messages/index.tsx'
import { Facts, ItemList, Section } from './Facts.tsx'
import styles from './ModelView.module.css'
import { ProblemNotice, Skeleton } from './States.tsx'

interface ModelViewProps {
  /** `['roles', id, 'model-view']`, so that it is fetched anew when the permissions have changed. */
  queryKey: readonly string[]
  load: () => Promise<SchemaModelViewResult>
}

/** Exactly what a model is shown for a role or a person, and how many tokens it costs. */
export function ModelView({ queryKey, load }: ModelViewProps) {
  const { modelView, toolExposure } = useMessages()
  const format = useFormat()
  const { data: view, error, refetch } = useQuery({ queryKey, queryFn: load })
  if (error) return <ProblemNotice error={error} onRetry={() => void refetch()} />
  if (!view) return <Skeleton lines={6} />
  const plainHelp = view.tool_exposure === 'meta' ? modelView.plainOnRequest : modelView.plainBy(view.tool_exposure)
  return (
    <>
      <p className={styles.help}>{modelView.help}</p>
      <Facts
        facts={[
          [modelView.tools, format.number(view.tool_count)],
          [toolExposure.label, view.tool_exposure],
          [modelView.atStart, modelView.tokens(view.estimated_start_tokens)],
          [modelView.allSchemas, modelView.tokens(view.estimated_schema_tokens)],
        ]}
      />
      <Section title={modelView.modules}>
        <ItemList
          label={modelView.modules}
          items={view.modules}
          itemKey={(module) => module.module}
          title={(module) => module.module}
          detail={(module) => module.tools.join(', ')}
          end={(module) => modelView.tokens(module.estimated_tokens)}
          empty={modelView.nothing}
        />
      </Section>
      <Section title={modelView.plain} help={plainHelp}>
        <ItemList
          label={modelView.plain}
          items={view.plain_tools.length > 0 ? [view.plain_tools] : []}
          itemKey={() => 'all'}
          title={(names) => modelView.plainCount(names.length)}
          detail={(names) => names.join(', ')}
          end={() => modelView.tokens(view.estimated_plain_tokens)}
          empty={modelView.noPlain}
        />
      </Section>
      {view.resources.length > 0 && (
        <Section title={modelView.resources} help={modelView.resourcesHelp}>
          <ItemList
            label={modelView.resources}
            items={view.resources}
            itemKey={(one) => `${one.module}.${one.name}`}
            title={(one) => one.uri}
            detail={(one) => `${one.module}.${one.name}`}
            empty={modelView.nothing}
          />
        </Section>
      )}
      {view.prompts.length > 0 && (
        <Section title={modelView.prompts} help={modelView.promptsHelp}>
          <ItemList
            label={modelView.prompts}
            items={view.prompts}
            itemKey={(one) => `${one.module}.${one.name}`}
            title={(one) => one.name}
            detail={(one) => one.module}
            empty={modelView.nothing}
          />
        </Section>
      )}
      {view.definitions.length > 0 && (
        <Section title={modelView.definitions} help={modelView.definitionsHelp}>
          {view.definitions.map((definition) => (
            <details key={String(definition.name)} className={styles.definition}>
              <summary>
                <code>{String(definition.name)}</code>
              </summary>
              <pre lang="en">{JSON.stringify(definition, null, 2)}</pre>
            </details>
          ))}
        </Section>
      )}
      <Section title={modelView.instructions}>
        <p lang="en" className={styles.instructions}>
          {view.instructions}
        </p>
      </Section>
    </>
  )
}
