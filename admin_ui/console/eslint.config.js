import hooks from 'eslint-plugin-react-hooks'
import tseslint from 'typescript-eslint'

const LANGUAGE = 'Intl without a language takes the browser\'s: use useFormat()'

export default tseslint.config(
  { ignores: ['src/api/schema.d.ts', 'public', 'node_modules'] },
  ...tseslint.configs.recommended,
  hooks.configs.flat.recommended,
  {
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-console': 'error',
      'no-restricted-properties': ['error', { property: 'dangerouslySetInnerHTML' }, { property: 'innerHTML' }],
      'no-restricted-syntax': [
        'error',
        { selector: 'CallExpression[callee.property.name=/^toLocale/]', message: LANGUAGE },
        { selector: 'JSXText[value=/[A-Za-z\\u3040-\\u30ff\\u4e00-\\u9fff]/]', message: 'a text belongs into src/messages' },
        { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'text is text' },
      ],
    },
  },
  {
    files: ['src/**'],
    ignores: ['src/messages/format.ts'],
    rules: { 'no-restricted-globals': ['error', { name: 'Intl', message: LANGUAGE }] },
  },
)
