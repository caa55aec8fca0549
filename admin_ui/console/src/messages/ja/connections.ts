import type { Messages } from '../index.tsx'

export const connections: Messages['connections'] = {
  states: {
    connected: '接続済み',
    needs_connect: '未接続',
    refreshing: '更新中',
    needs_reconnect: '切断',
    service_misconfigured: '設定の誤り',
    refused: '拒否',
    vendor_down: 'サービス停止中',
    disabled: '無効',
  },
}
