import type { Messages } from '../index.tsx'

export const keys: Messages['keys'] = {
  title: '鍵',
  help: '鍵暗号化鍵は、認証情報を保存するデータ鍵を暗号化します。鍵そのものは表示されません。',
  healthy: '必要な鍵はすべてそろっています',
  unhealthy: '必要な鍵がないか、正しくありません',
  file: '鍵ファイル',
  providers: '鍵プロバイダー',
  rewrapLeft: '再ラップが必要',
  reencryptLeft: '再暗号化が必要',
  list: '鍵の一覧',
  empty: '鍵はまだありません。最初の起動時に作成されます。',
  active: '現在の鍵',
  inUse: '使用中',
  notUsed: '未使用',
  missing: 'ありません',
  wrong: '正しい鍵ではありません',
  wraps: (tenants, data, signing) => `テナント ${tenants}、データ鍵 ${data}、署名鍵と設定 ${signing}`,
  next: '必要な作業',
  nothing: 'ありません。鍵の更新中ではありません。',
  steps: {
    restore: 'ない鍵、または正しくない鍵をコピーから復元するか、鍵プロバイダーを MCPIST_KEYS に指定してください。それまでは、その鍵で暗号化したものを読み取れません。',
    rewrap: (count) => `${count} 個の鍵が古い鍵で暗号化されています。現在の鍵で再ラップします：`,
    reencrypt: (count) => `${count} 件の秘密が古いデータ鍵で暗号化されています。再暗号化します：`,
    activate: (id) => `鍵 ${id} が追加されましたが、まだ使われていません。コピーとすべてのマシンに配布したら、有効にします：`,
    retire: (id) => `鍵 ${id} は不要になりました。バックアップでも不要になったら廃止します：`,
  },
  command: 'MCPist のマシンで実行するコマンド',
}

export const doctor: Messages['doctor'] = {
  title: '診断',
  help: {
    operator: 'デプロイ全体と自社について見つかったことを、緊急度の高い順に表示します。',
    administrator: '自社のサービスとアカウントについて見つかったことを、緊急度の高い順に表示します。',
  },
  again: 'もう一度確認',
  checked: '確認日時',
  healthy: 'エラーはありません',
  unhealthy: '対処が必要なものがあります',
  states: { ok: '正常', warning: '要確認', error: '要対処' },
  list: '確認項目',
  counts: (errors, warnings) => `エラー ${errors} 件、警告 ${warnings} 件`,
  empty: '確認する項目はありません。',
}
